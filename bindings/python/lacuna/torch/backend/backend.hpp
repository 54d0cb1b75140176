#pragma once

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "completions.hpp"
#include "elements.hpp"
#include "job.hpp"
#include "states.hpp"
#include "work.hpp"

namespace lacuna_c10d {

using WorkPointer = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

/// torch.distributed's backend "lacuna": a process group is a job of lacuna, and its calls are calls of the C API.
/// Some methods have two names, of which newer c10d calls the other one; c10d's base class translates. Those without
/// `override` are not in every version of c10d.
class Backend final : public c10d::Backend {
 public:
  struct Options final : c10d::Backend::Options {
    Options(std::chrono::milliseconds timeout, std::string method, std::int64_t minimum)
        : c10d::Backend::Options("lacuna", timeout), method(std::move(method)), minimum(minimum) {}
    c10::intrusive_ptr<c10d::Backend::Options> clone() const { return c10::make_intrusive<Options>(*this); }

    std::string method;    ///< of all_reduce, for instance "ok_topk:density=0.01"; empty: dense
    std::int64_t minimum;  ///< tensors with fewer elements are reduced densely
  };

  /// Blocks until all ranks have called it with the same store.
  Backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, c10::intrusive_ptr<Options> options);
  ~Backend() override;

  const std::string getBackendName() const override { return "lacuna"; }
  c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() override { return options_; }
  void setTimeout(std::chrono::milliseconds timeout) override { options_->timeout = timeout; }
  std::uint64_t getSequenceNumberForGroup() override { return sequence_; }
  c10d::ErrorType getError() override;
  void abort() override;
  void shutdown() override;
  /// Ends all groups of this process without waiting for calls in flight, because the interpreter ends.
  static void leave_all();

  bool supportsSplitting() const override { return true; }
  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
                                          const c10::intrusive_ptr<c10d::Backend::Options>& options) override;
  c10::intrusive_ptr<c10d::Backend> merge(const c10::intrusive_ptr<c10d::Store>& store,
                                          const c10::intrusive_ptr<c10d::Backend::Options>& options, const int& rank,
                                          const int& size) override;

  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPointer allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPointer allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPointer reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                             const c10d::ReduceScatterOptions& options) override;
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& options) override;
  WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::ReduceScatterOptions& options) override;

  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPointer allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  WorkPointer allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                  const c10d::AllgatherOptions& options) override;
  WorkPointer allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) override;
  WorkPointer gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkPointer gather_into_tensor(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& options);
  WorkPointer scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override;
  WorkPointer alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                            std::vector<std::int64_t>& input_splits, const c10d::AllToAllOptions& options) override;
  WorkPointer barrier(const c10d::BarrierOptions& options) override;

  WorkPointer send(Tensors& tensors, int to, int tag) override;
  WorkPointer recv(Tensors& tensors, int from, int tag) override;
  WorkPointer recvAnysource(Tensors& tensors, int tag) override;

 private:
  /// Makes the Task of a collective from its options.
  template <class CallOptions>
  Task task_of(c10d::OpType kind, const char* name, Tensors inputs, Tensors outputs, const CallOptions& options) {
    ++sequence_;
    const bool has_own = options.timeout != c10d::kUnsetTimeout;
    return {kind,
            std::string("lacuna:") + name,
            std::move(inputs),
            std::move(outputs),
            has_own ? options.timeout : options_->timeout,
            !options.asyncOp};
  }
  Task message_task(c10d::OpType kind, const char* name, const Tensors& tensors) const;
  /// Gathers the blocks of all ranks at `root`, behind each other in `room`.
  WorkPointer gather_to(std::int64_t root, Task task, const at::Tensor& input, const Tensors& outputs,
                        const at::Tensor& room);
  WorkPointer receive(c10d::OpType kind, const char* name, Tensors& tensors, int from, int tag);

  /// Starts calls, and waits for them if the task says so.
  WorkPointer start(Task task, const std::vector<Starter>& calls);
  /// Starts one collective. Its buffers and blocks are read before this returns.
  WorkPointer start(Task task, const lacuna_call& call, const lacuna_method* method = nullptr,
                    lacuna_state* state = nullptr);
  void leave(std::chrono::milliseconds patience);

  const c10::intrusive_ptr<Options> options_;
  States states_;
  std::shared_ptr<Job> job_;
  std::shared_ptr<Completions> completions_;
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<std::uint64_t> next_token_{0};
};

/// The description of a call, with room for what it points to.
struct Call : lacuna_call {
  explicit Call(lacuna_collective which) : lacuna_call(LACUNA_CALL_INIT) { collective = which; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Call& reads(const at::Tensor& tensor, const Elements& elements) {
    buffers[0] = buffer_of(tensor, elements);
    input = &buffers[0];
    return *this;
  }
  Call& writes(const at::Tensor& tensor, const Elements& elements) {
    buffers[1] = buffer_of(tensor, elements);
    output = &buffers[1];
    return *this;
  }
  Call& in_place(const at::Tensor& tensor, const Elements& elements) {
    reads(tensor, elements);
    output = input;
    return *this;
  }

  lacuna_buffer buffers[2];
};

/// The only tensor of a list. Throws if there are none or several.
at::Tensor& only(Tensors& tensors);
/// The lengths of tensors as blocks, in elements of lacuna.
std::vector<std::size_t> lengths_of(const Tensors& tensors, const Elements& elements);

}  // namespace lacuna_c10d
