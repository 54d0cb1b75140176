#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/values/status.hpp"

namespace lacuna {

struct Method;

/// A method with its options: what a call gives up, and how. An immutable value, cheap to copy and safe to share
/// between threads. A method's own header makes one from a struct. method_options() of the registry of algorithms
/// makes one from text ("name:option=value,option=value").
/// Without a method a call is dense.
class MethodOptions {
 public:
  MethodOptions() = default;
  /// Of a method and an object of its struct.
  MethodOptions(const Method& method, std::shared_ptr<const void> options);

  explicit operator bool() const { return body_ != nullptr; }
  /// Null: none.
  const Method* method() const { return body_ ? body_->method : nullptr; }
  /// The method's struct; only with a method.
  template <class T>
  const T& as() const {
    return *static_cast<const T*>(body_->options.get());
  }
  const void* get() const { return body_ ? body_->options.get() : nullptr; }
  /// Ok, or the first option that is out of its range.
  const Status& status() const;
  /// Stands for all that counts of them; 0: no method.
  std::uint64_t digest() const { return body_ ? body_->digest : 0; }
  /// "name:option=value": what is not as it is by default; empty: no method.
  const std::string& text() const;

 private:
  struct Body {
    const Method* method;
    std::shared_ptr<const void> options;
    Status status;
    std::string text;
    std::uint64_t digest;
  };
  std::shared_ptr<const Body> body_;
};

}  // namespace lacuna
