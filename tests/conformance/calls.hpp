#pragma once

#include <cstddef>
#include <vector>

#include "tests/conformance/example.hpp"
#include "tests/support/drawn_options.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::conformance {

using Numbers = std::vector<double>;

/// Makes calls of examples on all ranks, with a state for each rank. It is a fault if a call fails, changes its input
/// or writes beside its output.
class Calls {
 public:
  Calls(Rank size, const test::RanksOptions& options, std::size_t count = 100);
  /// Makes three calls of an example.
  Calls(const Example& example, const test::RanksOptions& options);

  /// Calls on inputs that a seed draws: whole numbers, of which many are zero. Outputs hold `before` then.
  void call_again(const Example& example, unsigned seed, double before = 1e9);
  /// Calls on these inputs, by rank.
  void call_on(const Example& example, std::vector<Numbers> given, double before = 1e9);

  std::size_t ranks() const { return states.size(); }
  /// What a rank's state holds of earlier inputs; nothing if it has no residual.
  Numbers residual(std::size_t rank) const;
  /// Throws a Fault unless the results and the states are those of other calls, bit for bit.
  void compare(const Calls& other, const std::string& text) const;
  void compare_last(const Calls& other, const std::string& text) const;

  const std::size_t count;
  std::vector<MethodState> states;
  std::vector<std::vector<Numbers>> inputs, outputs;  // by run and rank
  std::vector<Report> reports;                        // of the last run

 private:
  void compare_states(const Calls& other, const std::string& text) const;
  /// Takes the results from the memory of a call, which has guards around them.
  void take(const std::vector<Numbers>& memory, double guard, const std::string& text);

  test::Ranks ranks_;  // it must end before what its calls use
};

}  // namespace lacuna::conformance
