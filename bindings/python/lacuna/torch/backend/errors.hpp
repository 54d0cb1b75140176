#pragma once

#include <c10/util/Exception.h>
#include <lacuna/lacuna.h>

#include <exception>
#include <string>

namespace lacuna_c10d {

/// Throws torch.distributed.DistBackendError.
[[noreturn]] inline void fail(const std::string& text) { C10_THROW_ERROR(DistBackendError, "lacuna: " + text); }

/// Throws with the text of lacuna's last error in this thread, unless the call has worked.
inline void check(lacuna_status status) {
  if (status != LACUNA_OK) fail(lacuna_last_error());
}

/// The same exception as a value.
inline std::exception_ptr failure_of(const std::string& text) {
  try {
    fail(text);
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace lacuna_c10d
