#include "runtime/observe/kokkos_tools.hpp"

#include <utility>

// These are the declarations of impl/Kokkos_Profiling.hpp, equal from Kokkos 3.4 to 5. The functions are null if the
// process has no Kokkos.
namespace Kokkos::Tools {
[[gnu::weak]] bool profileLibraryLoaded();
[[gnu::weak]] void createProfileSection(const std::string& name, std::uint32_t* id);
[[gnu::weak]] void startSection(std::uint32_t id);
[[gnu::weak]] void stopSection(std::uint32_t id);
[[gnu::weak]] void destroyProfileSection(std::uint32_t id);
[[gnu::weak]] void pushRegion(const std::string& name);
[[gnu::weak]] void popRegion();
}  // namespace Kokkos::Tools

namespace lacuna::runtime::kokkos_tools {

bool are_loaded() { return Kokkos::Tools::profileLibraryLoaded && Kokkos::Tools::profileLibraryLoaded(); }

Section start_section(const std::string& name) {
  Section section = 0;  // it stays 0 if the tool does not number sections
  Kokkos::Tools::createProfileSection(name, &section);
  Kokkos::Tools::startSection(section);
  return section;
}

void stop_section(Section& section) {
  if (section == no_section) return;
  Kokkos::Tools::stopSection(section);
  Kokkos::Tools::destroyProfileSection(std::exchange(section, no_section));
}

Region::Region(const std::string& name) : entered_(!name.empty()) {
  if (entered_) Kokkos::Tools::pushRegion(name);
}

Region::~Region() {
  if (entered_) Kokkos::Tools::popRegion();
}

}  // namespace lacuna::runtime::kokkos_tools
