#pragma once

#include <cstdint>
#include <string>

/// Shows calls to the tools of the Kokkos in this process: as sections, which may overlap, and as regions of Kokkos,
/// which nest. lacuna is not linked with Kokkos for this. So the tools are those of the application's own Kokkos, of
/// any version from 3.4 on. Without Kokkos or without a tool, are_loaded() is false. Thread rule: call these without a
/// lock, and only from the application's threads, because tools may know no others.
namespace lacuna::runtime::kokkos_tools {

/// Does this process have Kokkos, with a tool? The question costs some nanoseconds.
bool are_loaded();

using Section = std::uint32_t;
inline constexpr Section no_section = ~Section{0};

/// Starts a section. Call it only if are_loaded().
Section start_section(const std::string& name);
/// Stops the section, and makes it no_section. It does nothing if the section is no_section already.
void stop_section(Section& section);

/// Makes a region of Kokkos on the calling thread while it lives. An empty name makes none. Another name needs
/// are_loaded().
class Region {
 public:
  explicit Region(const std::string& name);
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();

 private:
  const bool entered_;
};

}  // namespace lacuna::runtime::kokkos_tools
