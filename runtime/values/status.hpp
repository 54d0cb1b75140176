#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace lacuna {

/// What kind of outcome a Status names. The numbers are part of the C API.
enum class Code : int {
  Ok = 0,
  InvalidArgument = 1,  ///< the call can never work as given
  Unsupported = 2,      ///< well-formed, but not offered; the text says what is
  Mismatch = 3,         ///< ranks asked for different things
  TimedOut = 4,         ///< a wait or a deadline ran out
  Busy = 5,             ///< too many calls are in flight, or one still uses the state or the buffers; nothing was sent
  PeerFailed = 6,       ///< a rank died, stopped or left
  Poisoned = 7,         ///< an earlier failure ended this communicator
  Transport = 8,        ///< the network layer reported an error
  Io = 9,               ///< a file could not be read or written
  Internal = 10,        ///< a defect of lacuna itself, or the system lacks memory, threads or descriptors
};

/// The words for a code, such as "timed out".
std::string_view to_string(Code code);

/// The outcome of an operation: a code and, unless it is Ok, a text that says what was given and what is allowed. The
/// text is UTF-8. Other bytes, for instance of a file's name, are written like "\\xe9". Copies are cheap.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);

  static Status ok() { return {}; }

  bool is_ok() const { return code_ == Code::Ok; }
  explicit operator bool() const { return is_ok(); }
  Code code() const { return code_; }
  /// The text. It is empty if the code is Ok.
  std::string_view message() const { return message_ ? std::string_view(*message_) : std::string_view(); }
  /// "code: message", for logs and exceptions.
  std::string to_string() const;

 private:
  Code code_ = Code::Ok;
  std::shared_ptr<const std::string> message_;
};

/// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : state_(std::move(status)) {}  // NOLINT: implicit by design

  bool is_ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return is_ok(); }
  Status status() const { return is_ok() ? Status() : std::get<Status>(state_); }

  T& operator*() & { return std::get<T>(state_); }
  const T& operator*() const& { return std::get<T>(state_); }
  T&& operator*() && { return std::get<T>(std::move(state_)); }
  T* operator->() { return &std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace lacuna
