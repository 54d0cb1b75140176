#include "kernels/backend.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <filesystem>

#include "kernels/kokkos/entry.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

constinit const SpaceBackend host;
constinit std::atomic<const Backend*> serving = &host;

constexpr const char* library_name = "liblacuna_kokkos.so";

/// Its symbols are its own: it sees its Kokkos before any of the application's, which sees none of it.
#ifdef LACUNA_SANITIZED
constexpr int binding = RTLD_NOW | RTLD_LOCAL;  // sanitizers must see all first
#else
constexpr int binding = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

/// The library beside the one that holds this function, or else wherever the loader finds it. It stays loaded.
void* load() {
  Dl_info here{};
  if (::dladdr(&serving, &here) != 0) {
    const auto beside = std::filesystem::path(here.dli_fname).parent_path() / library_name;
    std::error_code ignored;
    if (std::filesystem::exists(beside, ignored)) return ::dlopen(beside.c_str(), binding);
  }
  return ::dlopen(library_name, binding);
}

/// It is asked each time, as what it has may have gone: an application may end its Kokkos.
Result<const Backend*> open_kokkos() {
  const auto missing = [](std::string_view why) {
    return Status(Code::Unsupported, fmt::format("no kernels by kokkos: {}; allowed: host, or kokkos where lacuna was "
                                                 "built with LACUNA_KOKKOS=ON and {} lies beside its core",
                                                 why, library_name));
  };
  void* library = load();
  if (library == nullptr) {
    const char* error = ::dlerror();
    return missing(error != nullptr ? error : "it can't be loaded");
  }
  const auto open = reinterpret_cast<BackendEntry*>(::dlsym(library, backend_entry_name));
  if (open == nullptr) return missing(fmt::format("{} is of another lacuna", library_name));
  const OpenedBackend opened = open(LACUNA_VERSION, MemoryKind::Host);
  if (opened.backend == nullptr) return missing(fmt::format("{}: {}", library_name, opened.problem));
  return opened.backend;
}

}  // namespace

const Backend& backend() { return *serving.load(std::memory_order_relaxed); }

Result<const Backend*> backend_named(std::string_view name) {
  if (name == host.name()) return &host;
  if (name == "kokkos") return open_kokkos();
  return Status(Code::InvalidArgument, fmt::format("no kernels by \"{}\"; allowed: host, kokkos", name));
}

Status serve_by(std::string_view name) {
  const auto named = backend_named(name);
  if (named) serving.store(*named, std::memory_order_release);
  return named.status();
}

}  // namespace lacuna::kernels
