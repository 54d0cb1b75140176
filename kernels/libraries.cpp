#include "kernels/libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

namespace lacuna::kernels {
namespace {

/// The path of the file beside the library that holds this function. Empty if there is none.
std::filesystem::path path_of(std::string_view file) {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&load_library), &here) == 0) return {};
  std::error_code none;
  for (const auto& core : {std::filesystem::path(here.dli_fname), std::filesystem::canonical(here.dli_fname, none)}) {
    auto beside = core.parent_path() / file;
    if (std::filesystem::exists(beside, none)) return beside;
  }
  return {};
}

/// A sanitizer must see all symbols first.
int binding(bool own_first) {
#ifdef LACUNA_SANITIZED
  own_first = false;
#endif
  return RTLD_NOW | RTLD_LOCAL | (own_first ? RTLD_DEEPBIND : 0);
}

}  // namespace

std::string problem_of_library(std::string_view file) {
  return path_of(file).empty() ? fmt::format("{} does not lie beside the core", file) : std::string();
}

Result<void*> load_library(std::string_view file, const char* symbol, bool own_first) {
  const auto problem = [](std::string why) { return Status(Code::Unsupported, std::move(why)); };
  if (std::string missing = problem_of_library(file); !missing.empty()) return problem(std::move(missing));
  void* const library = ::dlopen(path_of(file).c_str(), binding(own_first));
  if (library == nullptr) {
    const char* const error = ::dlerror();
    return problem(error != nullptr ? error : fmt::format("{} can't be loaded", file));
  }
  void* const found = ::dlsym(library, symbol);
  if (found == nullptr) return problem(fmt::format("{} belongs to another version of lacuna", file));
  return found;
}

}  // namespace lacuna::kernels
