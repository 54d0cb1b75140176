#include "kernels/kokkos/session.hpp"

#include <unistd.h>

#include <Kokkos_Core.hpp>
#include <exception>
#include <string_view>

namespace lacuna::kernels {
namespace {

/// Says which threads may use the host's execution space of this Kokkos. `has_threads`: it has threads of its own, so
/// kernels run on the thread that initialised it. `serves_others`: other threads may use it too. OpenMP allows that
/// since Kokkos 4.2, but each of them gets threads of its own.
struct Host {
  std::string_view name = Kokkos::DefaultHostExecutionSpace::name();
  bool has_threads = name == "OpenMP" || name == "Threads";
  bool serves_others = !has_threads || (name == "OpenMP" && KOKKOS_VERSION >= 40200);
};

}  // namespace

Session::Session() : process_(::getpid()), ours_(!Kokkos::is_initialized()) {
  const Host host;
  if (!ours_) {
    if (!host.serves_others) failure_ = "its Kokkos runs kernels on one thread only, on which the application uses it";
    return;
  }
  if (host.has_threads) {
    thread_ = std::make_unique<OwnThread>();
    turn().set_thread(thread_.get());
  }
  turn().run([this] {
    try {
      Kokkos::initialize();
    } catch (const std::exception& error) {
      failure_ = std::string("its Kokkos can't be initialised: ") + error.what();
    }
  });
}

Session::~Session() {
  if (process_ != ::getpid()) {  // a child made by fork() has neither this thread nor those of Kokkos
    static_cast<void>(thread_.release());
    return;
  }
  if (ours_ && Kokkos::is_initialized()) turn().run([] { Kokkos::finalize(); });
  turn().set_thread(nullptr);
}

const char* Session::problem() const {
  if (!failure_.empty()) return failure_.c_str();
  return Kokkos::is_initialized() ? nullptr : "its Kokkos has been finalised";
}

}  // namespace lacuna::kernels
