#include <fmt/format.h>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"

namespace lacuna::runtime {

void Executor::end_work(const Work& work) {
  const auto [part, id] = work.step;
  Run& run = *part->run;
  const std::size_t received = work.kernel ? 0 : work.computation.from.bytes();
  if (!work.kernel) incoming_.release(work.holder, received);
  --run.operations;
  Stage* const stage = work.kernel ? nullptr : work.holder.stage;
  if (stage && (run.finished || !work.status)) stages_.release(*stage);
  if (run.finished) {  // it has failed
    if (run.operations == 0) free(run);
    return;
  }
  if (!work.kernel && !work.status) return device_failed(work);
  if (stage) return part->graph->steps()[id].sends() ? outgoing_.end_stage(work) : boards_.end_copy(work);
  if (part->graph->steps()[id].receives()) return incoming_.end_work(work.step, received);
  if (work.kernel) {
    CollectiveRun& call = as_collective(run);
    if (!work.status) return kernel_failed(call, work);
    const auto& defines = part->graph->kernel(part->graph->steps()[id]).defines;
    for (std::size_t i = 0; i < defines.size(); ++i) {
      part->values[static_cast<std::size_t>(defines[i])] = work.defines[i];
    }
    run.communicator->add_measures(call, work.measures);
  }
  complete(*part, id);
}

/// A kernel may refuse what this rank's own caller has given it. Other ranks must hear of it, as they wait for what the
/// kernel would have made. If there are no other ranks, only the call ends.
void Executor::kernel_failed(CollectiveRun& call, const Work& work) {
  const bool refused = work.status.code() == Code::InvalidArgument;
  std::string text = fmt::format("rank {}: {}: {}", rank_, work.kernel->kernel->name, work.status.message());
  Client& communicator = *call.communicator;
  if (refused && call.hosts->size() == 1) return end_call(call, {Code::InvalidArgument, std::move(text)});
  failures_.report(communicator, refused ? Trouble::Kind::Refused : Trouble::Kind::Mismatch, call.number,
                   std::move(text));
}

}  // namespace lacuna::runtime
