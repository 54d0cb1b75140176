#pragma once

#include <cstdint>
#include <string_view>

#include "algorithms/registry/registry.hpp"

/// A plugin is a shared object with methods and algorithms of its own. The command `lacuna` loads those that
/// LACUNA_PLUGINS names, so that all its tools know them. A plugin has this once, outside of all namespaces:
///
///     static lacuna::Status add() { return lacuna::register_method(my_method); }
///     LACUNA_PLUGIN(add)
namespace lacuna {

/// Plugins work only with the version of lacuna for which they were built. Another one most likely has another number.
inline constexpr std::uint64_t plugin_layout = (sizeof(Method) << 32) + (sizeof(Algorithm) << 16) + sizeof(PartPlan);

/// Loads shared objects, whose paths are separated by colons, and calls what each adds. A plugin stays until the
/// process ends. The error says which one can't be loaded, or was built for another version, or what its function has
/// returned.
Status load_plugins(std::string_view paths);

}  // namespace lacuna

/// Says which function a plugin calls when it is loaded. It takes nothing and returns a lacuna::Status.
#define LACUNA_PLUGIN(function)                                     \
  extern "C" const std::uint64_t lacuna_plugin_layout;              \
  const std::uint64_t lacuna_plugin_layout = lacuna::plugin_layout; \
  extern "C" void lacuna_plugin(lacuna::Status* status);            \
  void lacuna_plugin(lacuna::Status* status) { *status = function(); }
