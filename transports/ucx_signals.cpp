#include <dlfcn.h>
#include <ucs/debug/debug.h>

#include <csignal>
#include <cstdlib>

namespace lacuna {
namespace {

/// The address at which the library that has this function is loaded. Null: no library has it.
const void* library_of(const void* function) {
  Dl_info info{};
  return ::dladdr(function, &info) != 0 ? info.dli_fbase : nullptr;
}

bool is_caught_by_ucx(int signal) {
  struct sigaction action {};
  if (::sigaction(signal, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0) return false;
  const void* catcher = library_of(reinterpret_cast<const void*>(action.sa_handler));
  return catcher && catcher == library_of(reinterpret_cast<const void*>(&ucs_debug_disable_signal));
}

/// UCX catches SIGHUP as soon as it is loaded, and then only writes more into its log. A program whose terminal closes
/// would never end. What the signal did before comes back, unless the user has chosen a signal for UCX.
__attribute__((constructor)) void give_back_hangup() {
  if (!std::getenv("UCX_DEBUG_SIGNO") && is_caught_by_ucx(SIGHUP)) ucs_debug_disable_signal(SIGHUP);
}

}  // namespace
}  // namespace lacuna
