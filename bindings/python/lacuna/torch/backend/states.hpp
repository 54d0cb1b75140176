#pragma once

#include <ATen/core/Tensor.h>
#include <lacuna/lacuna.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>

namespace lacuna_c10d {

/// The method of a group's all_reduces, and what it remembers of each tensor. A tensor is recognised by its storage,
/// and by its place there. What was remembered goes when the storage is freed.
class States {
 public:
  /// @param method  for instance "ok_topk:density=0.01"; empty: none
  /// @param minimum tensors with fewer elements are reduced densely
  States(const std::string& method, std::int64_t minimum);

  /// Whether the method serves this contiguous tensor.
  bool serves(const at::Tensor& tensor, lacuna_reduction reduction) const;
  const lacuna_method* method() const { return method_.get(); }
  /// The state of this tensor, for one call at a time.
  std::shared_ptr<lacuna_state> state_of(const at::Tensor& tensor);

 private:
  using Place = std::tuple<std::int64_t, std::int64_t, at::ScalarType>;  // offset and length in elements, type
  struct OfStorage {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    std::map<Place, std::shared_ptr<lacuna_state>> states;
  };

  void forget_freed();

  std::unique_ptr<lacuna_method, void (*)(lacuna_method*)> method_;
  std::int64_t minimum_;
  std::mutex mutex_;
  std::unordered_map<const c10::StorageImpl*, OfStorage> storages_;
  std::uint64_t made_ = 0;  // states made so far; equal on all ranks
};

/// Makes a method from "name" or "name:options".
std::unique_ptr<lacuna_method, void (*)(lacuna_method*)> make_method(const std::string& text);

}  // namespace lacuna_c10d
