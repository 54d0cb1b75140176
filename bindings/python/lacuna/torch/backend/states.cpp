#include "states.hpp"

#include <utility>

#include "errors.hpp"

namespace lacuna_c10d {

std::unique_ptr<lacuna_method, void (*)(lacuna_method*)> make_method(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string options = colon == std::string::npos ? "" : text.substr(colon + 1);
  lacuna_method* method = nullptr;
  check(lacuna_method_create(text.substr(0, colon).c_str(), options.c_str(), &method));
  return {method, lacuna_method_free};
}

States::States(const std::string& method, std::int64_t minimum)
    : method_(nullptr, lacuna_method_free), minimum_(minimum) {
  if (!method.empty()) method_ = make_method(method);
}

bool States::serves(const at::Tensor& tensor, lacuna_reduction reduction) const {
  const bool adds = reduction == LACUNA_SUM || reduction == LACUNA_AVG;
  return method_ && adds && at::isFloatingType(tensor.scalar_type()) && tensor.numel() >= minimum_;
}

std::shared_ptr<lacuna_state> States::state_of(const at::Tensor& tensor) {
  const std::lock_guard lock(mutex_);
  const c10::Storage& storage = tensor.storage();
  c10::StorageImpl* const key = storage.unsafeGetStorageImpl();
  auto found = storages_.find(key);
  if (found == storages_.end()) {
    forget_freed();
    found = storages_.emplace(key, OfStorage{storage.getWeakStorageImpl(), {}}).first;
  }
  auto& state = found->second.states[{tensor.storage_offset(), tensor.numel(), tensor.scalar_type()}];
  if (!state) {
    lacuna_state* made = nullptr;
    check(lacuna_state_create(method_.get(), 0, made_++, &made));
    state = std::shared_ptr<lacuna_state>(made, lacuna_state_free);
  }
  return state;
}

/// A weak pointer keeps the address of its storage from being used again, so no storage is taken for another one.
void States::forget_freed() {
  for (auto entry = storages_.begin(); entry != storages_.end();) {
    entry = entry->second.storage.expired() ? storages_.erase(entry) : std::next(entry);
  }
}

}  // namespace lacuna_c10d
