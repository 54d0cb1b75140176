#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/values/status.hpp"

namespace lacuna {

struct Method;

/// A method with its options: what a call gives up, and how. It is an immutable value, cheap to copy and safe to share
/// between threads. A method's own header makes one from a struct. method_options() of the registry of algorithms
/// makes one from text ("name:option=value,option=value"). Without a method a call is dense.
class MethodOptions {
 public:
  MethodOptions() = default;
  /// `options` is an object of the method's struct.
  MethodOptions(const Method& method, std::shared_ptr<const void> options);

  explicit operator bool() const { return body_ != nullptr; }
  /// The method, or null if there is none.
  const Method* method() const { return body_ ? body_->method : nullptr; }
  /// The method's struct, which is a T. Call it only if there is a method.
  template <class T>
  const T& as() const {
    return *static_cast<const T*>(body_->options.get());
  }
  const void* get() const { return body_ ? body_->options.get() : nullptr; }
  /// Ok, or the text that names the first option that is out of its range.
  const Status& status() const;
  /// Stands for the method and all options that have an effect. 0: there is no method.
  std::uint64_t digest() const { return body_ ? body_->digest : 0; }
  /// "name:option=value", with the options that are not as they are by default. Empty: there is no method.
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
