#include "task.hpp"

#include <numeric>

namespace lacuna_c10d {
namespace {

/// Copies between tensors are no part of what autograd sees.
using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

void check_one_type(const std::vector<at::Tensor>& tensors) {
  TORCH_CHECK(!tensors.empty(), "lacuna: the list of tensors is empty");
  for (const at::Tensor& tensor : tensors) {
    check_dense(tensor);
    TORCH_CHECK(tensor.scalar_type() == tensors.front().scalar_type(),
                "lacuna: tensors of one call have one type, not ", tensors.front().scalar_type(), " and ",
                tensor.scalar_type());
  }
}

}  // namespace

void check_dense(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.device().is_cpu(), "lacuna: the tensor is on ", tensor.device(), ", must be on cpu");
  TORCH_CHECK(tensor.layout() == at::kStrided, "lacuna: the layout is ", tensor.layout(), ", must be ", at::kStrided,
              " (all_reduce takes ", at::kSparse, " too)");
}

std::int64_t total_of(const std::vector<at::Tensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                         [](std::int64_t sum, const at::Tensor& tensor) { return sum + tensor.numel(); });
}

at::Tensor Task::input(const at::Tensor& tensor) {
  const BelowAutograd below;
  check_dense(tensor);
  return memory.emplace_back(tensor.contiguous());
}

at::Tensor Task::output(const at::Tensor& tensor) {
  const BelowAutograd below;
  check_dense(tensor);
  if (tensor.is_contiguous()) return memory.emplace_back(tensor);
  return parted({tensor});
}

at::Tensor Task::in_place(const at::Tensor& tensor) {
  const at::Tensor room = input(tensor);
  if (!room.is_same(tensor)) copy_to({tensor}, room);
  return room;
}

at::Tensor Task::joined(const std::vector<at::Tensor>& tensors) {
  const BelowAutograd below;
  check_one_type(tensors);
  if (tensors.size() == 1) return input(tensors.front());
  std::vector<at::Tensor> flat;
  flat.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) flat.push_back(tensor.reshape(-1));
  return memory.emplace_back(at::cat(flat));
}

at::Tensor Task::parted(const std::vector<at::Tensor>& tensors) {
  const BelowAutograd below;
  check_one_type(tensors);
  const at::Tensor room = memory.emplace_back(at::empty({total_of(tensors)}, tensors.front().options()));
  copy_to(tensors, room);
  return room;
}

at::Tensor Task::joined_in_place(const std::vector<at::Tensor>& tensors) {
  if (tensors.size() == 1) return in_place(tensors.front());
  const at::Tensor room = joined(tensors);
  copy_to(tensors, room);
  return room;
}

void Task::copy_to(const std::vector<at::Tensor>& tensors, const at::Tensor& room) {
  endings.emplace_back([tensors, flat = room.view(-1)] {
    const BelowAutograd below;
    std::int64_t begin = 0;
    for (const at::Tensor& tensor : tensors) {
      tensor.copy_(flat.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
      begin += tensor.numel();
    }
  });
}

}  // namespace lacuna_c10d
