#include "runtime/engine/compute.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "kernels/copy_past_caches.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::size_t long_step = 1 << 20;  // bytes, about 100 us

/// A first-in, first-out queue that needs no memory of its own.
class WorkQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  void push(Work* work) {
    work->next = nullptr;
    (first_ ? last_->next : first_) = work;
    last_ = work;
  }
  /// Returns null if the queue is empty.
  Work* pop() {
    Work* work = first_;
    if (work) first_ = work->next;
    return work;
  }

 private:
  Work *first_ = nullptr, *last_ = nullptr;
};

class HostCompute final : public Compute {
 public:
  bool takes(std::size_t bytes) const override { return bytes >= long_step; }

  Started start(Work& work) override {
    const std::lock_guard lock(mutex_);
    waiting_.push(&work);
    return Started::Pending;
  }

  Work* ended() override {
    const std::lock_guard lock(mutex_);
    return ended_.pop();
  }

  bool wants_turn() const override {
    const std::lock_guard lock(mutex_);
    return !waiting_.empty() || !ended_.empty();
  }

  bool advance() override {
    Work* work = nullptr;
    {
      const std::lock_guard lock(mutex_);
      work = waiting_.pop();
    }
    if (!work) return false;
    carry_out(*work);
    const std::lock_guard lock(mutex_);
    ended_.push(work);
    return true;
  }

 private:
  mutable std::mutex mutex_;
  WorkQueue waiting_, ended_;
};

/// to[i] = a[i] op b[i], by the program's function. The function gets copies, which are aligned, so that it need not
/// care where the elements lie.
void reduce_by_program(const OwnReduction& own, const Extent& to, const std::byte* a, const std::byte* b) {
  alignas(64) std::byte in[own_block_bytes];
  alignas(64) std::byte inout[own_block_bytes];
  const std::size_t width = size_of(to.dtype), bytes = to.bytes();
  for (std::size_t begin = 0; begin < bytes; begin += own_block_bytes) {
    const std::size_t length = std::min(own_block_bytes, bytes - begin);
    std::memcpy(inout, a + begin, length);
    std::memcpy(in, b + begin, length);
    own.function(own.context, in, inout, length / width);
    std::memcpy(to.data + begin, inout, length);
  }
}

}  // namespace

std::size_t Work::bytes() const {
  if (!kernel) return computation.bytes();
  std::size_t bytes = 0;
  for (const auto* extents : {&reads, &writes}) {
    for (const Extent& extent : *extents) bytes += extent.bytes();
  }
  return bytes;
}

void carry_out(const kernels::Backend& backend, const Computation& computation) {
  const auto& [kind, scale, to, from, local, own, past_caches] = computation;
  switch (kind) {
    case StepKind::Clear:
      return backend.clear({to.dtype, to.data, to.count});
    case StepKind::Reduce:
      if (to.reduction == Reduction::Own) return reduce_by_program(own, to, to.data, from.data);
      return backend.reduce(to.reduction, {}, {to.dtype, to.data, to.count}, to.data, from.data);
    case StepKind::ReceiveReduce:
      if (local.reduction == Reduction::Own) return reduce_by_program(own, to, local.data, from.data);
      return backend.reduce(local.reduction, scale, {to.dtype, to.data, to.count}, local.data, from.data);
    case StepKind::Receive:
      if (past_caches) return kernels::copy_past_caches(to.data, from.data, to.bytes());
      [[fallthrough]];
    default:  // in a call with tables, the copy of the own block is as long as the shorter side
      return backend.copy(scale.sum, {to.dtype, to.data, std::min(to.count, from.count)}, from.data);
  }
}

void carry_out(Work& work) {
  if (!work.kernel) return carry_out(*work.backend, work.computation);
  try {
    work.status = work.kernel->kernel->run(work.kernel->ports.get(), {work.reads, work.writes, work.uses, work.defines},
                                           {*work.part, *work.backend, work.measures});
  } catch (const std::exception& error) {
    work.status = {Code::Internal, error.what()};
  } catch (...) {
    work.status = {Code::Internal, "the kernel threw something that is no std::exception"};
  }
}

std::unique_ptr<Compute> host_compute() { return std::make_unique<HostCompute>(); }

}  // namespace lacuna::runtime
