#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bindings/c/lacuna.h"
#include "bindings/cpp/lacuna.hpp"
#include "runtime/job/fork_guard.hpp"

// What the files of the C interface share. There is one file for each group of lacuna.h.

struct lacuna_communicator {
  lacuna::Communicator communicator;
  lacuna::runtime::Home home{};
};

struct lacuna_request {
  std::variant<lacuna::Request, lacuna::ReceiveRequest, lacuna::CallRequest, lacuna::PreparedCall,
               lacuna::PreparedExchange>
      request;
  lacuna::runtime::Home home{};
};

struct lacuna_method {
  lacuna::MethodOptions options;
};

struct lacuna_state {
  lacuna::MethodState state;
  const lacuna::Method* method = nullptr;     ///< the method that the state was made for; null: any
  std::vector<lacuna::MethodState*> model{};  ///< what MethodState::model points to
};

namespace lacuna::c {

/// What all requests have.
Request& any(lacuna_request& request);
/// The request's collective. It is empty for a message.
const CallRequest& call_of(const lacuna_request& request);

/// Turns a status into that of C. The text of a failure becomes the thread's last error.
lacuna_status done(const Status& status);
/// Returns the text with a zero byte at its end. It lives until the process ends. Each text is stored once, so the
/// tables from which texts come bound the memory.
const char* lasting(std::string_view text);
/// Returns the text of this thread's last error.
const std::string& last_error();

/// Calls `body` and lets no exception leave the C interface, not even for lack of memory.
template <class Body>
lacuna_status guarded(Body body) noexcept {
  try {
    return done(body());
  } catch (const std::bad_alloc&) {
    return done({Code::Internal, "out of memory"});
  } catch (const std::exception& error) {
    return done({Code::Internal, error.what()});
  }
}

/// Copies the members that the caller's version of a structure has. The others keep their defaults.
template <class T>
Status read(const T* given, T& value) {
  if (!given) return {};
  if (given->struct_size < sizeof(given->struct_size) || given->struct_size > sizeof(T)) {
    return {Code::InvalidArgument, "struct_size is " + std::to_string(given->struct_size) + ", must be " +
                                       std::to_string(sizeof(given->struct_size)) + " .. " + std::to_string(sizeof(T)) +
                                       ": set it with the _INIT macro"};
  }
  std::memcpy(&value, given, given->struct_size);
  return {};
}

Status check_range(const char* what, std::int32_t value, std::int32_t most);
inline Status check_dtype(std::int32_t dtype) { return check_range("dtype", dtype, LACUNA_BYTES_64); }
Status null_argument(const char* what);
/// Says that memory of the caller has `capacity` bytes or elements where `needed` are written.
Status too_small(std::size_t capacity, std::size_t needed);

/// Rounds up to microseconds, or to milliseconds. A time of more than decades becomes runtime::never.
Status read_seconds(const char* what, double seconds, std::chrono::microseconds& value);
Status read_seconds(const char* what, double seconds, std::chrono::milliseconds& value);
Status read_options(const lacuna_options* given, Options& options);
/// Is the call to be prepared? The options have been checked before.
bool prepares(const lacuna_options* given);
Status read_buffer(const lacuna_buffer* given, const char* name, lacuna_buffer& value);
Memory memory_of(const lacuna_buffer& buffer);

}  // namespace lacuna::c
