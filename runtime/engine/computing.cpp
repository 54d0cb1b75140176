#include "runtime/engine/computing.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "runtime/engine/client.hpp"
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

Computing::Computing(const Engine& engine)
    : engine_(engine), host_(engine.options.compute ? engine.options.compute() : host_compute()) {}

void Computing::start(ActivePart& part, StepId id) {
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
  carry_out(engine_.kernels, what);
  engine_.steps.complete(part, id);
}

/// Returns what carries out a computation later, or null if it is carried out at once.
Compute* Computing::compute_for(const Computation& what) const {
  if (touches_device(what)) return engine_.device.compute();
  return host_->takes(what.bytes()) ? host_.get() : nullptr;
}

void Computing::start_work(const StepOf& step, const Computation& what, const Holder& holder) {
  TakenWork work(works_, step, engine_.kernels);
  work->computation = what;
  work->holder = holder;
  const bool on_device = touches_device(what);
  if (holder.is_lent || (on_device && what.from.memory == MemoryKind::Host)) copy_for_work(*work);
  if (holder.landing) ++holder.landing->users;
  ++step.part->run->operations;  // the buffers are in use
  Work& given = work.hand_over();
  // What its end throws is noted here: whoever has handed over the holder must not release it again.
  if (compute_for(what)->start(given) == Started::Done) engine_.failures.guard([&] { end(given); });
}

/// Gives the work a copy of the bytes that it reads, which the device reaches if there is one.
void Computing::copy_for_work(Work& work) {
  Extent& from = work.computation.from;
  BlockPool& pool = engine_.memory.arrivals();
  work.holder.copy = pool.take(from.bytes());
  work.holder.memory = from.memory = pool.space().kind();
  host_memory().copy(work.holder.copy, from.data, from.bytes());
  from.data = work.holder.copy;
}

void Computing::start_kernel(ActivePart& part, StepId id) {
  const KernelStep& row = part.graph->kernel(part.graph->steps()[id]);
  TakenWork work(works_, {&part, id}, engine_.kernels);
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
  Compute& compute = part.run->call.memory.kind == MemoryKind::Cuda ? *engine_.device.compute() : *host_;
  const bool is_long = compute.takes(given.bytes());
  if (!is_long) carry_out(given);
  if (!is_long || compute.start(given) == Started::Done) end(given);
}

bool Computing::advance() {
  DeviceCompute* const device = engine_.device.compute();
  const bool moved = host_->advance();
  return (device && device->advance()) || moved;
}

bool Computing::end_works() {
  bool any = false;
  for (Compute* compute : {host_.get(), static_cast<Compute*>(engine_.device.compute())}) {
    while (Work* work = compute ? compute->ended() : nullptr) {
      any = true;
      engine_.record.tick();
      engine_.failures.serve(work->step.part->run->communicator, [&] { end(*work); });
    }
  }
  return any;
}

void Computing::end(Work& work) {
  works_.give_back(&work);  // nobody takes it from the pool before this function ends
  engine_.steps.end_work(work);
}

bool Computing::may_sleep() {
  if (!is_busy()) return true;
  if (host_->wants_turn() || !host_->arm()) return false;
  DeviceCompute* const device = engine_.device.compute();
  return !device || (!device->wants_turn() && device->arm());
}

std::array<int, 2> Computing::event_fds() const {
  const DeviceCompute* const device = engine_.device.compute();
  return {host_->event_fd(), device ? device->event_fd() : -1};
}

}  // namespace lacuna::runtime
