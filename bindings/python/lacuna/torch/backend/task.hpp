#pragma once

#include <ATen/ATen.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace lacuna_c10d {

/// What a Work does beside its calls of lacuna: it keeps memory alive, and it copies results to where they belong.
/// lacuna reads and writes contiguous memory. Where a tensor is not contiguous, a contiguous one stands in for it.
struct Task {
  c10d::OpType kind;
  std::string title;                ///< what the profiler calls it
  std::vector<at::Tensor> inputs;   ///< what the profiler shows
  std::vector<at::Tensor> outputs;  ///< the result of the Work and of its future
  std::chrono::milliseconds timeout;
  bool waits = false;                            ///< the caller waits at once
  std::optional<std::uint64_t> expected;         ///< bytes that a receive must get
  std::vector<at::Tensor> memory{};              ///< what calls use
  std::vector<std::shared_ptr<void>> objects{};  ///< what else they use
  std::vector<std::function<void()>> endings{};  ///< run after the calls have ended well

  /// Contiguous elements of the tensor, to be read.
  at::Tensor input(const at::Tensor& tensor);
  /// Contiguous room, which becomes the tensor's elements.
  at::Tensor output(const at::Tensor& tensor);
  /// Both.
  at::Tensor in_place(const at::Tensor& tensor);
  /// The elements of all tensors behind each other, to be read. Throws unless they have one type.
  at::Tensor joined(const std::vector<at::Tensor>& tensors);
  /// Room for the elements of all tensors behind each other, which becomes theirs. Throws unless they have one type.
  at::Tensor parted(const std::vector<at::Tensor>& tensors);
  /// Both.
  at::Tensor joined_in_place(const std::vector<at::Tensor>& tensors);

 private:
  void copy_to(const std::vector<at::Tensor>& tensors, const at::Tensor& room);
};

/// The number of elements of all tensors.
std::int64_t total_of(const std::vector<at::Tensor>& tensors);
/// Throws unless the tensor is a strided one in the host's memory.
void check_dense(const at::Tensor& tensor);

}  // namespace lacuna_c10d
