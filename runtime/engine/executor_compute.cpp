#include <fmt/format.h>

#include <stdexcept>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::runtime {
namespace {

/// Given back to its pool, unless it has been handed over.
class TakenWork {
 public:
  TakenWork(ObjectPool<Work>& pool, const StepOf& step) : pool_(pool), work_(pool.take()) {
    work_->step = step;
    work_->kind = step.part->graph->steps()[step.step].kind;
    work_->reads.clear();
    work_->writes.clear();
    work_->uses.clear();
    work_->status = {};
  }
  ~TakenWork() {
    if (work_) pool_.give_back(work_);
  }
  TakenWork(const TakenWork&) = delete;
  TakenWork& operator=(const TakenWork&) = delete;

  Work* operator->() { return work_; }
  Work& operator*() { return *work_; }
  void hand_over() { work_ = nullptr; }

 private:
  ObjectPool<Work>& pool_;
  Work* work_;
};

}  // namespace

void Executor::start_compute(ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  const Extent to = resolve(part, step.to), from = step.reads() ? resolve(part, step.from) : Extent();
  if (step.reads() && (to.dtype != from.dtype || (step.kind == StepKind::Reduce && from.count < to.count))) {
    throw std::length_error(fmt::format("part {} step {}: {} of {} from {} of {}", part.number, id,
                                        count_of(to.count, "element"), to_string(to.dtype), from.count,
                                        to_string(from.dtype)));
  }
  const Scale scale = step.kind == StepKind::Copy ? scale_of(part, step) : Scale();
  if (!compute_->takes(to.bytes() + from.bytes())) {
    carry_out(step.kind, scale, to, from);
    return complete(part, id);
  }
  TakenWork work(works_, {&part, id});
  work->scale = scale;
  work->writes.push_back(to);
  if (step.reads()) work->reads.push_back(from);
  ++part.run->operations;  // the buffers are in use
  Work& given = *work;
  work.hand_over();
  if (compute_->start(given) == Started::Done) end_work(given);
}

void Executor::start_kernel(ActivePart& part, StepId id) {
  const KernelStep& row = part.graph->kernel(part.graph->steps()[id]);
  TakenWork work(works_, {&part, id});
  work->kernel = &row;
  work->part.emplace(view_of(part));
  const Method* method = collective_of(part).method;
  work->measures.begin(method ? method->measures : MeasureTable());
  for (const Region& region : row.reads) work->reads.push_back(resolve(part, region));
  for (const Region& region : row.writes) work->writes.push_back(resolve(part, region));
  for (Value value : row.uses) work->uses.push_back(part.value(value));
  work->defines.assign(row.defines.size(), 0);
  Work& given = *work;
  work.hand_over();
  ++part.run->operations;
  const bool is_long = compute_->takes(given.bytes());
  if (!is_long) carry_out(given);
  if (!is_long || compute_->start(given) == Started::Done) end_work(given);
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
  const auto [part, id] = work.step;
  Run& run = *part->run;
  works_.give_back(&work);  // nobody takes it before this has ended
  --run.operations;
  if (run.finished) {  // it has failed
    if (run.operations > 0) return;
    if (options_.progress_thread) ended_.notify_all();
    return let_go(run);
  }
  if (work.kind == StepKind::Kernel) {
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

/// A kernel may refuse what this rank's own caller has given it. Other ranks are to know of it, as they wait for what
/// the kernel would have made; where there are none, only the call ends.
void Executor::kernel_failed(CollectiveRun& call, const Work& work) {
  const bool refused = work.status.code() == Code::InvalidArgument;
  std::string text = fmt::format("rank {}: {}: {}", rank_, work.kernel->kernel->name, work.status.message());
  Client& communicator = *call.communicator;
  if (refused && communicator.size() == 1) return end_call(call, {Code::InvalidArgument, std::move(text)});
  trouble(communicator, refused ? Trouble::Kind::Refused : Trouble::Kind::Mismatch, call.number, std::move(text));
}

}  // namespace lacuna::runtime
