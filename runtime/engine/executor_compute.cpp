#include <fmt/format.h>

#include "runtime/communicator/communicator.hpp"
#include "runtime/engine/executor.hpp"

namespace lacuna::runtime {

void Executor::start_compute(ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  const Extent to = resolve(part, step.to), from = step.reads() ? resolve(part, step.from) : Extent();
  const Scale scale = step.kind == StepKind::Copy ? scale_of(part, step) : Scale();
  if (!compute_->takes(to.bytes() + from.bytes())) {
    carry_out(step.kind, scale, to, from);
    return complete(part, id);
  }
  Work& work = take_work(part, id);
  work.scale = scale;
  work.writes.push_back(to);
  if (step.reads()) work.reads.push_back(from);
  give_to_compute(work);
}

void Executor::start_kernel(ActivePart& part, StepId id) {
  const KernelStep& row = part.graph->kernel(part.graph->steps()[id]);
  Work& work = take_work(part, id);
  work.kernel = row.kernel;
  work.part.emplace(view_of(part));
  for (const Region& region : row.reads) work.reads.push_back(resolve(part, region));
  for (const Region& region : row.writes) work.writes.push_back(resolve(part, region));
  for (Value value : row.uses) work.uses.push_back(part.value(value));
  work.defines.resize(row.defines.size());
  if (compute_->takes(work.bytes())) return give_to_compute(work);
  carry_out(work);
  end_work(work);
}

Work& Executor::take_work(ActivePart& part, StepId id) {
  Work& work = *works_.take();
  work.step = {&part, id};
  work.kind = part.graph->steps()[id].kind;
  work.reads.clear();
  work.writes.clear();
  work.uses.clear();
  work.defines.assign(0, 0);
  work.status = {};
  ++part.run->operations;  // the buffers are in use
  return work;
}

void Executor::give_to_compute(Work& work) {
  if (compute_->start(work) == Started::Done) end_work(work);
}

/// False if none has ended.
bool Executor::end_works() {
  bool any = false;
  while (Work* work = compute_->ended()) {
    any = true;
    record_.tick();
    serving_ = work->step.part->run->communicator;
    guarded([&] { end_work(*work); });
  }
  if (any) wake();
  return any;
}

void Executor::end_work(Work& work) {
  ActivePart& part = *work.step.part;
  Run& run = *part.run;
  const StepId id = work.step.step;
  --run.operations;
  if (run.finished) {  // it has failed
    works_.give_back(&work);
    if (run.operations > 0) return;
    if (options_.progress_thread) ended_.notify_all();
    return let_go(run);
  }
  if (work.kind == StepKind::Kernel) {
    if (work.status) {
      const auto& defines = part.graph->kernel(part.graph->steps()[id]).defines;
      for (std::size_t i = 0; i < defines.size(); ++i) {
        part.values[static_cast<std::size_t>(defines[i])] = work.defines[i];
      }
      run.communicator->count(as_collective(run), work.counted);
    } else {
      const Status why(work.status.code(),
                       fmt::format("rank {}: {}: {}", rank_, work.kernel->name, work.status.message()));
      works_.give_back(&work);
      failures_.emplace_back(run.communicator, why);
      return;
    }
  }
  works_.give_back(&work);
  complete(part, id);
}

}  // namespace lacuna::runtime
