#pragma once

#include <cstdint>
#include <string>

/// Shows calls to the tools of the Kokkos that this process has, if it has one: sections, which may overlap, and
/// regions, which nest. lacuna is not linked with Kokkos for this, so that it is the application's own, of any version
/// from 3.4 on, whose tools hear of it; without one, or without a tool, nothing happens. Call these without a lock and
/// from the application's threads only: tools need not expect others.
namespace lacuna::runtime::kokkos_tools {

/// Is there anyone to tell? Some nanoseconds.
bool are_loaded();

using Section = std::uint32_t;
inline constexpr Section no_section = ~Section{0};

Section start_section(const std::string& name);
/// Also lets go of it, and makes it no_section. Of that, nothing.
void stop_section(Section& section);

/// A region of the calling thread; an empty name is none.
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
