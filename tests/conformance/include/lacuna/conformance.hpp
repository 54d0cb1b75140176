#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What must hold for every method: the tests that lacuna generates for its own methods, for methods of other trees.
/// The ranks are objects in this process. Messages between them come in orders that are drawn from seeds, and
/// computations end late and in orders of their own. So no job, no network and no other process is needed.
/// <lacuna/conformance_gtest.hpp> makes GoogleTests of it. Thread rule: one thread at a time.
namespace lacuna {

struct Method;

namespace conformance {

/// One thing that must hold for every method. The method's examples show it.
struct Property {
  std::string_view name;     ///< a sentence about methods without blanks: "ConserveMassWhereTheyHaveAResidual"
  std::string_view meaning;  ///< the same in words, with the numbers of ranks and elements that are tried
  /// Returns nothing, or what is wrong, with the example, the algorithm and the number of ranks. The method must be one
  /// of lacuna or registered (register_method). A kernel that touches memory which it does not declare ends the
  /// process, with a line that names its step.
  std::string (*fault)(const Method& method);
};

/// All properties.
std::span<const Property> properties();

/// The name of a method.
std::string_view name_of(const Method& method);

/// Loads a plugin as the command does (LACUNA_PLUGINS), and returns the methods that it has registered. Throws
/// std::runtime_error if it can't be loaded, or registers no method.
std::vector<const Method*> methods_of_plugin(std::string_view path);

}  // namespace conformance
}  // namespace lacuna
