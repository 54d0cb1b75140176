#include <algorithm>
#include <numeric>

#include "backend.hpp"

namespace lacuna_c10d {
namespace {

lacuna_blocks blocks_of(const std::vector<std::size_t>& lengths) {
  lacuna_blocks blocks = LACUNA_BLOCKS_INIT;
  blocks.counts = lengths.data();
  return blocks;
}

/// The only list, of one tensor for each rank.
Tensors& list_of(std::vector<Tensors>& lists, int size) {
  TORCH_CHECK(lists.size() == 1 && lists.front().size() == static_cast<std::size_t>(size),
              "lacuna: the call needs one list of ", size, " tensors");
  return lists.front();
}

/// Throws unless `whole` has room for the part of each rank, of the same type.
void check_whole(const at::Tensor& whole, const at::Tensor& part, int size, const char* which) {
  TORCH_CHECK(whole.numel() == part.numel() * size, "lacuna: the ", which, " has ", whole.numel(),
              " elements, must have ", size, " times the ", part.numel(), " of a rank");
  TORCH_CHECK(whole.scalar_type() == part.scalar_type(), "lacuna: input and output have one type, not ",
              whole.scalar_type(), " and ", part.scalar_type());
}

/// The lengths of the parts of a tensor that is divided along its first dimension; without splits, into equal ones.
std::vector<std::size_t> parts_of(const at::Tensor& tensor, const std::vector<std::int64_t>& splits, int size,
                                  const Elements& elements) {
  const std::int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  const std::int64_t row = rows == 0 ? 0 : tensor.numel() / rows * static_cast<std::int64_t>(elements.each);
  if (splits.empty()) {
    TORCH_CHECK(rows % size == 0, "lacuna: the first dimension is ", rows, ", must be a multiple of the ", size,
                " ranks, or the call needs split sizes");
    return std::vector<std::size_t>(size, static_cast<std::size_t>(rows / size * row));
  }
  TORCH_CHECK(splits.size() == static_cast<std::size_t>(size), "lacuna: there are ", splits.size(),
              " split sizes, must be ", size);
  const std::int64_t sum = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  TORCH_CHECK(sum == rows && std::all_of(splits.begin(), splits.end(), [](std::int64_t split) { return split >= 0; }),
              "lacuna: the split sizes are ", splits, ", must be 0 or more and add up to the first dimension, ", rows);
  std::vector<std::size_t> lengths;
  for (const std::int64_t split : splits) lengths.push_back(static_cast<std::size_t>(split * row));
  return lengths;
}

}  // namespace

WorkPointer Backend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const at::Tensor& tensor = only(tensors);
  Task task = task_of(c10d::OpType::BROADCAST, "broadcast", tensors, tensors, options);
  const at::Tensor data = options.rootRank == getRank() ? task.input(tensor) : task.output(tensor);
  Call call(LACUNA_BROADCAST);
  call.in_place(data, moved_as(tensor.scalar_type())).root = static_cast<std::int32_t>(options.rootRank);
  return start(std::move(task), call);
}

WorkPointer Backend::allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  const at::Tensor& input = only(inputs);
  const Tensors& list = list_of(outputs, getSize());
  Task task = task_of(c10d::OpType::ALLGATHER, "all_gather", inputs, list, options);
  const Elements elements = moved_as(input.scalar_type());
  const std::vector<std::size_t> lengths = lengths_of(list, elements);
  const lacuna_blocks blocks = blocks_of(lengths);
  Call call(LACUNA_ALLGATHERV);
  call.reads(task.input(input), elements).writes(task.parted(list), elements).output_blocks = &blocks;
  TORCH_CHECK(list.front().scalar_type() == input.scalar_type(), "lacuna: input and output have one type, not ",
              input.scalar_type(), " and ", list.front().scalar_type());
  return start(std::move(task), call);
}

WorkPointer Backend::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) {
  Tensors outputs{output};
  Tensors inputs{input};
  return allgather_into_tensor_coalesced(outputs, inputs, options);
}

WorkPointer Backend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::AllgatherOptions& options) {
  TORCH_CHECK(outputs.size() == inputs.size(), "lacuna: there are ", inputs.size(), " inputs and ", outputs.size(),
              " outputs, must be as many");
  Task task = task_of(c10d::OpType::_ALLGATHER_BASE, "_all_gather_base", inputs, outputs, options);
  std::vector<Starter> calls;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_whole(outputs[i], inputs[i], getSize(), "output");
    calls.push_back([this, input = task.input(inputs[i]), output = task.output(outputs[i])](
                        const lacuna_options& started, lacuna_request** request) {
      const Elements elements = moved_as(input.scalar_type());
      Call call(LACUNA_ALLGATHER);
      call.reads(input, elements).writes(output, elements);
      return lacuna_execute(job_->communicator(), &call, &started, request);
    });
  }
  return start(std::move(task), calls);
}

WorkPointer Backend::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                         const c10d::AllgatherOptions& options) {
  TORCH_CHECK(outputs.size() == static_cast<std::size_t>(getSize()), "lacuna: there are ", outputs.size(),
              " lists of outputs, must be ", getSize());
  Tensors all;
  for (const Tensors& list : outputs) {
    TORCH_CHECK(total_of(list) == total_of(inputs), "lacuna: an output list has ", total_of(list),
                " elements, must have the ", total_of(inputs), " of the inputs");
    all.insert(all.end(), list.begin(), list.end());
  }
  Task task = task_of(c10d::OpType::ALLGATHER_COALESCED, "all_gather", inputs, all, options);
  const at::Tensor input = task.joined(inputs);
  const Elements elements = moved_as(input.scalar_type());
  Call call(LACUNA_ALLGATHER);
  call.reads(input, elements).writes(task.parted(all), elements);
  return start(std::move(task), call);
}

WorkPointer Backend::gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) {
  const bool is_root = options.rootRank == getRank();
  TORCH_CHECK(is_root || outputs.empty(), "lacuna: only the root of a gather has outputs");
  const Tensors list = is_root ? list_of(outputs, getSize()) : Tensors{};
  Task task = task_of(c10d::OpType::GATHER, "gather", inputs, list, options);
  const at::Tensor room = is_root ? task.parted(list) : at::Tensor();
  return gather_to(options.rootRank, std::move(task), only(inputs), list, room);
}

WorkPointer Backend::gather_into_tensor(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& options) {
  const bool is_root = options.rootRank == getRank();
  Task task = task_of(c10d::OpType::GATHER, "gather", {input}, {output}, options);
  if (!is_root) return gather_to(options.rootRank, std::move(task), input, {}, {});
  check_whole(output, input, getSize(), "output");
  const at::Tensor room = task.output(output);
  return gather_to(options.rootRank, std::move(task), input, Tensors(getSize(), input), room);
}

WorkPointer Backend::gather_to(std::int64_t root, Task task, const at::Tensor& input, const Tensors& outputs,
                               const at::Tensor& room) {
  const Elements elements = moved_as(input.scalar_type());
  const std::vector<std::size_t> lengths = lengths_of(outputs, elements);
  const lacuna_blocks blocks = blocks_of(lengths);
  Call call(LACUNA_GATHERV);
  call.reads(task.input(input), elements).root = static_cast<std::int32_t>(root);
  if (room.defined()) call.writes(room, elements).output_blocks = &blocks;
  return start(std::move(task), call);
}

WorkPointer Backend::scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) {
  const at::Tensor& output = only(outputs);
  const bool is_root = options.rootRank == getRank();
  TORCH_CHECK(is_root || inputs.empty(), "lacuna: only the root of a scatter has inputs");
  const Tensors list = is_root ? list_of(inputs, getSize()) : Tensors{};
  Task task = task_of(c10d::OpType::SCATTER, "scatter", list, outputs, options);
  const Elements elements = moved_as(output.scalar_type());
  const std::vector<std::size_t> lengths = lengths_of(list, elements);
  const lacuna_blocks blocks = blocks_of(lengths);
  Call call(LACUNA_SCATTERV);
  call.writes(task.output(output), elements).root = static_cast<std::int32_t>(options.rootRank);
  if (is_root) call.reads(task.joined(list), elements).input_blocks = &blocks;
  return start(std::move(task), call);
}

WorkPointer Backend::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
  const auto size = static_cast<std::size_t>(getSize());
  TORCH_CHECK(inputs.size() == size && outputs.size() == size, "lacuna: there are ", inputs.size(), " inputs and ",
              outputs.size(), " outputs, must be ", size, " each");
  Task task = task_of(c10d::OpType::ALLTOALL, "all_to_all", inputs, outputs, options);
  const Elements elements = moved_as(inputs.front().scalar_type());
  const std::vector<std::size_t> sent = lengths_of(inputs, elements);
  const std::vector<std::size_t> received = lengths_of(outputs, elements);
  const lacuna_blocks input_blocks = blocks_of(sent);
  const lacuna_blocks output_blocks = blocks_of(received);
  Call call(LACUNA_ALLTOALLV);
  call.reads(task.joined(inputs), elements).writes(task.parted(outputs), elements);
  call.input_blocks = &input_blocks;
  call.output_blocks = &output_blocks;
  return start(std::move(task), call);
}

WorkPointer Backend::alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                                   std::vector<std::int64_t>& input_splits, const c10d::AllToAllOptions& options) {
  TORCH_CHECK(input.scalar_type() == output.scalar_type(), "lacuna: input and output have one type, not ",
              input.scalar_type(), " and ", output.scalar_type());
  Task task = task_of(c10d::OpType::ALLTOALL_BASE, "all_to_all", {input}, {output}, options);
  const Elements elements = moved_as(input.scalar_type());
  const std::vector<std::size_t> sent = parts_of(input, input_splits, getSize(), elements);
  const std::vector<std::size_t> received = parts_of(output, output_splits, getSize(), elements);
  const lacuna_blocks input_blocks = blocks_of(sent);
  const lacuna_blocks output_blocks = blocks_of(received);
  Call call(LACUNA_ALLTOALLV);
  call.reads(task.input(input), elements).writes(task.output(output), elements);
  call.input_blocks = &input_blocks;
  call.output_blocks = &output_blocks;
  return start(std::move(task), call);
}

WorkPointer Backend::barrier(const c10d::BarrierOptions& options) {
  Task task = task_of(c10d::OpType::BARRIER, "barrier", {}, {}, options);
  return start(std::move(task), Call(LACUNA_BARRIER));
}

}  // namespace lacuna_c10d
