#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "runtime/engine/client.hpp"
#include "runtime/engine/executor.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::runtime {
namespace {

/// A work that is given back to its pool, unless it has been handed over.
class TakenWork {
 public:
  TakenWork(ObjectPool<Work>& pool, const StepOf& step, const kernels::Backend& backend)
      : pool_(pool), work_(pool.take()) {
    work_->step = step;
    work_->backend = &backend;
    work_->kernel = nullptr;
    work_->part.reset();
  }
  ~TakenWork() {
    if (work_) pool_.give_back(work_);
  }
  TakenWork(const TakenWork&) = delete;
  TakenWork& operator=(const TakenWork&) = delete;

  Work* operator->() { return work_; }
  Work& operator*() { return *work_; }
  Work& hand_over() { return *std::exchange(work_, nullptr); }

 private:
  ObjectPool<Work>& pool_;
  Work* work_;
};

}  // namespace

void Executor::start_compute(ActivePart& part, StepId id) {
  const Step& step = part.graph->steps()[id];
  const Computation what{.kind = step.kind,
                         .scale = step.kind == StepKind::Copy ? scale_of(part, step) : Scale(),
                         .to = resolve(part, step.to),
                         .from = step.reads() ? resolve(part, step.from) : Extent(),
                         .own = part.run->call.own};
  const Extent &to = what.to, &from = what.from;
  if (step.reads() && (to.dtype != from.dtype || (step.kind == StepKind::Reduce && from.count < to.count))) {
    throw std::length_error(fmt::format("part {} step {}: {} of {} from {} of {}", part.number, id,
                                        count_of(to.count, "element"), to_string(to.dtype), from.count,
                                        to_string(from.dtype)));
  }
  if (compute_->takes(to.bytes() + from.bytes())) return start_work({&part, id}, what, {});
  carry_out(kernels_, what);
  complete(part, id);
}

void Executor::start_work(const StepOf& step, const Computation& what, const Holder& holder) {
  TakenWork work(works_, step, kernels_);
  work->computation = what;
  work->holder = holder;
  if (holder.is_lent) copy_lent(*work);
  if (holder.landing) ++holder.landing->users;
  ++step.part->run->operations;  // the buffers are in use
  Work& given = work.hand_over();
  // What its end throws is noted here: whoever has handed over the holder must not release it again.
  if (compute_->start(given) == Started::Done) guarded([&] { end_work(given); });
}

/// Gives the work a copy of the bytes that it reads.
void Executor::copy_lent(Work& work) {
  Extent& from = work.computation.from;
  BlockPool& host = memory_.host();
  work.holder.copy = host.take(from.bytes());
  host.space().copy(work.holder.copy, from.data, from.bytes());
  from.data = work.holder.copy;
}

void Executor::start_kernel(ActivePart& part, StepId id) {
  const KernelStep& row = part.graph->kernel(part.graph->steps()[id]);
  TakenWork work(works_, {&part, id}, kernels_);
  work->kernel = &row;
  work->part.emplace(view_of(part));
  const Method* method = collective_of(part).method;
  work->measures.begin(method ? method->measures : MeasureTable());
  work->reads.clear();
  work->writes.clear();
  work->uses.clear();
  for (const Region& region : row.reads) work->reads.push_back(resolve(part, region));
  for (const Region& region : row.writes) work->writes.push_back(resolve(part, region));
  for (Value value : row.uses) work->uses.push_back(part.value(value));
  work->defines.assign(row.defines.size(), 0);
  work->status = {};
  Work& given = work.hand_over();
  ++part.run->operations;
  const bool is_long = compute_->takes(given.bytes());
  if (!is_long) carry_out(given);
  if (!is_long || compute_->start(given) == Started::Done) end_work(given);
}

/// Ends all works that have been carried out. Returns false if there are none.
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
  works_.give_back(&work);  // nobody takes it from the pool before this function ends
  const std::size_t received = work.kernel ? 0 : work.computation.from.bytes();
  if (!work.kernel) release_held(*part, id, work.holder, received);
  --run.operations;
  if (run.finished) {  // it has failed
    if (run.operations > 0) return;
    if (options_.progress_thread) ended_.notify_all();
    return let_go(run);
  }
  if (part->graph->steps()[id].receives()) return note_consumed(*part, id, received);
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
  trouble(communicator, refused ? Trouble::Kind::Refused : Trouble::Kind::Mismatch, call.number, std::move(text));
}

}  // namespace lacuna::runtime
