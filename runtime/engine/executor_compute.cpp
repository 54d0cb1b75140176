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
    work_->after = step.part->run->after;
    work_->status = {};
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
                         .scale = step.kind == StepKind::Copy ? scale_of(part, step) : SumScale(),
                         .to = resolve(part, step.to),
                         .from = step.reads() ? resolve(part, step.from) : Extent(),
                         .own = part.run->call.own};
  const Extent &to = what.to, &from = what.from;
  if (step.reads() && (to.dtype != from.dtype || (step.kind == StepKind::Reduce && from.count < to.count))) {
    throw std::length_error(fmt::format("part {} step {}: {} of {} from {} of {}", part.number, id,
                                        count_of(to.count, "element"), to_string(to.dtype), from.count,
                                        to_string(from.dtype)));
  }
  if (compute_for(what)) return start_work({&part, id}, what, {});
  carry_out(kernels_, what);
  complete(part, id);
}

/// Returns what carries out a computation later, or null if it is carried out at once.
Compute* Executor::compute_for(const Computation& what) {
  if (touches_device(what)) return made_device_.get();
  return compute_->takes(what.bytes()) ? compute_.get() : nullptr;
}

void Executor::start_work(const StepOf& step, const Computation& what, const Holder& holder) {
  TakenWork work(works_, step, kernels_);
  work->computation = what;
  work->holder = holder;
  const bool on_device = touches_device(what);
  if (holder.is_lent || (on_device && what.from.memory == MemoryKind::Host)) copy_for_work(*work);
  if (holder.landing) ++holder.landing->users;
  ++step.part->run->operations;  // the buffers are in use
  Work& given = work.hand_over();
  // What its end throws is noted here: whoever has handed over the holder must not release it again.
  if (compute_for(what)->start(given) == Started::Done) failures_.guard([&] { end_work(given); });
}

/// Gives the work a copy of the bytes that it reads, which the device reaches if there is one.
void Executor::copy_for_work(Work& work) {
  Extent& from = work.computation.from;
  BlockPool& pool = memory_.arrivals();
  work.holder.copy = pool.take(from.bytes());
  work.holder.memory = from.memory = pool.space().kind();
  host_memory().copy(work.holder.copy, from.data, from.bytes());
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
  Work& given = work.hand_over();
  ++part.run->operations;
  Compute& compute = part.run->call.memory.kind == MemoryKind::Cuda ? *made_device_ : *compute_;
  const bool is_long = compute.takes(given.bytes());
  if (!is_long) carry_out(given);
  if (!is_long || compute.start(given) == Started::Done) end_work(given);
}

/// Goes on with works that want a turn of a thread. It is called without the lock.
bool Executor::advance_works() {
  DeviceCompute* const device = device_.load(std::memory_order_acquire);
  const bool moved = compute_->advance();
  return (device && device->advance()) || moved;
}

/// Ends all works that have been carried out. Returns false if there are none.
bool Executor::end_works() {
  bool any = false;
  for (Compute* compute : {compute_.get(), static_cast<Compute*>(made_device_.get())}) {
    while (Work* work = compute ? compute->ended() : nullptr) {
      any = true;
      record_.tick();
      failures_.serve(work->step.part->run->communicator, [&] { end_work(*work); });
    }
  }
  if (any) wake();
  return any;
}

void Executor::end_work(Work& work) {
  const auto [part, id] = work.step;
  Run& run = *part->run;
  works_.give_back(&work);  // nobody takes it from the pool before this function ends
  const std::size_t received = work.kernel ? 0 : work.computation.from.bytes();
  if (!work.kernel) release_held(work.holder, received);
  --run.operations;
  Stage* const stage = work.kernel ? nullptr : work.holder.stage;
  if (stage && (run.finished || !work.status)) stages_.release(*stage);
  if (run.finished) {  // it has failed
    if (run.operations > 0) return;
    if (options_.progress_thread) ended_.notify_all();
    return let_go(run);
  }
  if (!work.kernel && !work.status) return device_failed(work);
  if (stage) return part->graph->steps()[id].sends() ? end_stage(work) : boards_.end_copy(work);
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
  failures_.report(communicator, refused ? Trouble::Kind::Refused : Trouble::Kind::Mismatch, call.number,
                   std::move(text));
}

}  // namespace lacuna::runtime
