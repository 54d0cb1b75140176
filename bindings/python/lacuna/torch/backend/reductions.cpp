#include <numeric>

#include "backend.hpp"

namespace lacuna_c10d {
namespace {

Reduction reduction_of(const at::Tensor& tensor, const c10d::ReduceOp& operation) {
  return reduced_as(tensor.scalar_type(), operation);
}

/// Before the result is copied to where it belongs.
void divide_at_end(Task& task, const at::Tensor& sums, int size) {
  task.endings.emplace(task.endings.begin(), [sums, size] { divide(sums, size); });
}

void check_blocks(const at::Tensor& blocks, const at::Tensor& block, int size) {
  TORCH_CHECK(blocks.numel() == block.numel() * size, "lacuna: the input has ", blocks.numel(), " elements, must have ",
              size, " times the ", block.numel(), " of the output");
  TORCH_CHECK(blocks.scalar_type() == block.scalar_type(), "lacuna: input and output have one type, not ",
              blocks.scalar_type(), " and ", block.scalar_type());
}

}  // namespace

WorkPointer Backend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  const at::Tensor& tensor = only(tensors);
  if (tensor.is_sparse()) return allreduce_sparse(tensors, options);
  Task task = task_of(c10d::OpType::ALLREDUCE, "all_reduce", tensors, tensors, options);
  const at::Tensor data = task.in_place(tensor);
  const auto [elements, reduction, divides] = reduction_of(tensor, options.reduceOp);
  if (divides) divide_at_end(task, data, getSize());
  Call call(LACUNA_ALLREDUCE);
  call.in_place(data, elements).reduction = reduction;
  if (!states_.serves(tensor, reduction)) return start(std::move(task), call);
  const auto state = states_.state_of(tensor);
  task.objects.push_back(state);
  return start(std::move(task), call, states_.method(), state.get());
}

WorkPointer Backend::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  Task task = task_of(c10d::OpType::ALLREDUCE_COALESCED, "all_reduce", tensors, tensors, options);
  const at::Tensor data = task.joined_in_place(tensors);
  const auto [elements, reduction, divides] = reduction_of(data, options.reduceOp);
  if (divides) divide_at_end(task, data, getSize());
  Call call(LACUNA_ALLREDUCE);
  call.in_place(data, elements).reduction = reduction;
  return start(std::move(task), call);
}

WorkPointer Backend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const at::Tensor& tensor = only(tensors);
  Task task = task_of(c10d::OpType::REDUCE, "reduce", tensors, tensors, options);
  const auto [elements, reduction, divides] = reduction_of(tensor, options.reduceOp);
  Call call(LACUNA_REDUCE);
  if (options.rootRank == getRank()) {
    const at::Tensor data = task.in_place(tensor);
    if (divides) divide_at_end(task, data, getSize());
    call.in_place(data, elements);
  } else {
    call.reads(task.input(tensor), elements);
  }
  call.root = static_cast<std::int32_t>(options.rootRank);
  call.reduction = reduction;
  return start(std::move(task), call);
}

WorkPointer Backend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                    const c10d::ReduceScatterOptions& options) {
  const at::Tensor& output = only(outputs);
  TORCH_CHECK(inputs.size() == 1 && inputs.front().size() == static_cast<std::size_t>(getSize()),
              "lacuna: a reduce_scatter needs one list of ", getSize(), " tensors");
  const Tensors& parts = inputs.front();
  TORCH_CHECK(parts[getRank()].numel() == output.numel(), "lacuna: the output has ", output.numel(),
              " elements, must have the ", parts[getRank()].numel(), " of the rank's input");
  Task task = task_of(c10d::OpType::REDUCE_SCATTER, "reduce_scatter", parts, outputs, options);
  const auto [elements, reduction, divides] = reduction_of(output, options.reduceOp);
  const std::vector<std::size_t> lengths = lengths_of(parts, elements);
  lacuna_blocks blocks = LACUNA_BLOCKS_INIT;
  blocks.counts = lengths.data();
  Call call(LACUNA_REDUCE_SCATTERV);
  const at::Tensor room = task.output(output);
  if (divides) divide_at_end(task, room, getSize());
  call.reads(task.joined(parts), elements).writes(room, elements);
  call.input_blocks = &blocks;
  call.reduction = reduction;
  return start(std::move(task), call);
}

WorkPointer Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::ReduceScatterOptions& options) {
  Tensors outputs{output};
  Tensors inputs{input};
  return reduce_scatter_tensor_coalesced(outputs, inputs, options);
}

WorkPointer Backend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::ReduceScatterOptions& options) {
  TORCH_CHECK(outputs.size() == inputs.size(), "lacuna: there are ", inputs.size(), " inputs and ", outputs.size(),
              " outputs, must be as many");
  Task task = task_of(c10d::OpType::_REDUCE_SCATTER_BASE, "_reduce_scatter_base", inputs, outputs, options);
  std::vector<Starter> calls;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_blocks(inputs[i], outputs[i], getSize());
    const Reduction reduction = reduction_of(inputs[i], options.reduceOp);
    const at::Tensor room = task.output(outputs[i]);
    if (reduction.divides) divide_at_end(task, room, getSize());
    calls.push_back([this, input = task.input(inputs[i]), output = room, reduction](const lacuna_options& started,
                                                                                    lacuna_request** request) {
      Call call(LACUNA_REDUCE_SCATTER);
      call.reads(input, reduction.elements).writes(output, reduction.elements).reduction = reduction.reduction;
      return lacuna_execute(job_->communicator(), &call, &started, request);
    });
  }
  return start(std::move(task), calls);
}

}  // namespace lacuna_c10d
