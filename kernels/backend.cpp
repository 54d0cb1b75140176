#include "kernels/backend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <initializer_list>

#include "kernels/entry.hpp"
#include "kernels/libraries.hpp"
#include "kernels/processor.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {

#if defined(__x86_64__)
constexpr std::string_view baseline_name = "x86-64";
#else
constexpr std::string_view baseline_name = "host";
#endif
/// The instruction sets whose kernels lie in libraries of their own, the best first.
constexpr std::array<std::string_view, std::initializer_list<std::string_view>{LACUNA_LEVELS}.size()> levels = {
    LACUNA_LEVELS};
constexpr std::string_view best_name = "host", kokkos_name = "kokkos";

std::string_view SpaceBackend::name() const { return baseline_name; }

namespace {

constinit const SpaceBackend baseline;

std::string library_of(std::string_view name) {
  return name == kokkos_name ? "liblacuna_kokkos.so" : fmt::format("liblacuna_kernels_{}.so", name);
}

/// Says why this processor, or this installation, has no such kernels. Empty if it may have them.
std::string problem_of(std::string_view name) {
  if (name == best_name || name == baseline_name) return {};
  if (name != kokkos_name && !runs(this_processor(), name)) return "this processor does not run them";
  const std::string missing = problem_of_library(library_of(name));
  if (missing.empty() || name != kokkos_name) return missing;
  return missing + " (it is built with LACUNA_KOKKOS=ON)";
}

/// Loads the library of these kernels, which stays loaded, and asks it for its backend. It asks each time, because an
/// application may have ended its Kokkos meanwhile.
Result<const Backend*> open(std::string_view name) {
  const auto missing = [&](std::string_view why) {
    std::vector<std::string> allowed;
    for (const KernelsHere& kernels : kernels_here()) {
      if (kernels.problem.empty() && kernels.name != name) allowed.push_back(kernels.name);
    }
    return Status(Code::Unsupported,
                  fmt::format("no kernels by {}: {}; allowed here: {}", name, why, fmt::join(allowed, ", ")));
  };
  if (const std::string problem = problem_of(name); !problem.empty()) return missing(problem);
  const auto found = load_library(library_of(name), backend_entry_name, name == kokkos_name);
  if (!found) return missing(found.status().message());
  const auto entry = reinterpret_cast<BackendEntry*>(*found);
  const OpenedBackend opened = entry(LACUNA_VERSION);
  if (opened.backend == nullptr) return missing(fmt::format("{}: {}", library_of(name), opened.problem));
  return opened.backend;
}

struct Best {
  const Backend* backend;
  std::string missing;  ///< see better_but_missing()
};

Best best() {
  std::string missing;
  for (std::string_view level : levels) {
    if (!runs(this_processor(), level)) continue;
    const auto opened = open(level);
    if (opened) return {*opened, std::move(missing)};
    if (missing.empty()) missing = opened.status().message();
  }
  return {&baseline, std::move(missing)};
}

}  // namespace

std::vector<KernelsHere> kernels_here() {
  std::vector<KernelsHere> all = {{std::string(best_name), {}}};
  if (baseline_name != best_name) all.push_back({std::string(baseline_name), {}});
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    all.push_back({std::string(*level), problem_of(*level)});
  }
  all.push_back({std::string(kokkos_name), problem_of(kokkos_name)});
  return all;
}

const Backend& best_backend() {
  static const Backend& found = *best().backend;
  return found;
}

Result<const Backend*> backend_named(std::string_view name) {
  if (name == best_name) return &best_backend();
  if (name == baseline_name) return &baseline;
  std::vector<std::string> known;
  for (const KernelsHere& kernels : kernels_here()) {
    if (kernels.name == name) return open(name);
    if (kernels.problem.empty()) known.push_back(kernels.name);
  }
  return Status(Code::InvalidArgument,
                fmt::format("no kernels by \"{}\"; allowed here: {}", name, fmt::join(known, ", ")));
}

std::string better_but_missing() { return best().missing; }

}  // namespace lacuna::kernels
