#include <algorithm>
#include <utility>

#include "algorithms/registry/registry.hpp"
#include "tests/conformance/example.hpp"
#include "tests/conformance/fault.hpp"
#include "tests/conformance/properties.hpp"
#include "tests/support/drawn_options.hpp"

namespace lacuna::conformance {
namespace {

using Numbers = std::vector<double>;

/// Which entries of its data a rank brings.
enum class Brings : std::uint8_t { None, Last, All };
constexpr Brings all_brings[] = {Brings::None, Brings::Last, Brings::All};

/// What the ranks bring, and which buffers are lists of entries.
struct Operands {
  std::vector<Brings> brings;  ///< by rank
  bool even_lists = false;     ///< the inputs of even ranks are lists
  bool odd_lists = false;      ///< those of odd ranks are
  bool lists_result = false;

  bool lists_input(std::size_t rank) const { return rank % 2 == 0 ? even_lists : odd_lists; }
};

/// The memory of one rank.
struct Buffers {
  Numbers elements, values, output;
  std::vector<std::uint32_t> places, found;
  std::size_t count = 0;
  MethodState state;

  /// Fills the input, also as a list.
  void fill(std::size_t rank, Brings brings, std::size_t length) {
    const std::size_t entries = elements.size() / length;
    const std::size_t brought =
        brings == Brings::All ? entries : std::min<std::size_t>(entries, brings == Brings::Last);
    for (std::size_t place = entries - brought; place < entries; ++place) {
      places.push_back(static_cast<std::uint32_t>(place));
      for (std::size_t i = place * length; i < (place + 1) * length; ++i) {
        elements[i] = static_cast<double>((7 * i + 3 * rank) % 5 + 1);
        values.push_back(elements[i]);
      }
    }
  }
  /// Makes elements of a result that is a list.
  void spread(std::size_t length) {
    const Numbers listed = std::exchange(output, Numbers(output.size()));
    for (std::size_t i = 0; i < count * length; ++i) output[found[i / length] * length + i % length] = listed[i];
  }
};

std::size_t length_of_entries(const Example& example) {
  return std::max<std::size_t>(entry_length(example.options), 1);
}

/// Makes two calls of an example with a state for each rank. What is empty is null.
class OperandCalls {
 public:
  OperandCalls(const Example& example, const Operands& operands)
      : example_(example), operands_(operands), buffers(operands.brings.size()) {
    std::vector<Call> calls;
    for (std::size_t rank = 0; rank < buffers.size(); ++rank) calls.push_back(call_of(rank));
    accepted = std::all_of(calls.begin(), calls.end(),
                           [&](const Call& call) { return select_algorithm(call, example.hosts).is_ok(); });
    if (!accepted) return;
    test::RanksOptions options = test::drawn_options(1);
    for (Rank rank = 0; rank < example.size(); ++rank) options.hosts.push_back(example.hosts.host_of(rank));
    test::Ranks ranks(example.size(), options);
    for (int call = 0; call < 2; ++call) {
      for (const Status& end : ranks.run(calls)) demand(end.is_ok(), "{}: {}", text(), end.to_string());
    }
    for (Buffers& own : buffers) {
      if (operands.lists_result) own.spread(length_of_entries(example));
    }
  }

  std::string text() const {
    std::string brings;
    for (Brings one : operands_.brings) brings += one == Brings::None ? " none" : one == Brings::Last ? " one" : " all";
    return fmt::format("{}, ranks bring{}, lists on even ranks {}, on odd ranks {}, as the result {}", example_.text,
                       brings, operands_.even_lists, operands_.odd_lists, operands_.lists_result);
  }

 private:
  Call call_of(std::size_t rank) {
    static std::uint32_t none = 0;  // an empty list is a list, too
    Buffers& own = buffers[rank];
    Call call = example_.call(own.state);
    const std::size_t length = length_of_entries(example_);
    own.elements.resize(input_length(call, static_cast<Rank>(buffers.size())));
    own.output.assign(output_length(call, static_cast<Rank>(buffers.size())), 77);
    own.fill(rank, operands_.brings[rank], length);
    call.input = own.elements.data();
    call.output = own.output.data();
    if (operands_.lists_input(rank)) {
      call.input = own.values.data();
      call.input_entries = {own.places.empty() ? &none : own.places.data(), own.places.size(), length};
    }
    if (operands_.lists_result) {
      own.found.resize(own.output.size() / length);
      call.output_entries = {own.found.empty() ? &none : own.found.data(), own.found.size(), &own.count, length};
    }
    return call;
  }

  const Example& example_;
  const Operands& operands_;

 public:
  bool accepted = false;
  std::vector<Buffers> buffers;
};

/// A list gives the bits that its elements give.
void compare_lists(const Example& example, const OperandCalls& elements, Operands operands) {
  for (const auto [even, odd, result] : {std::array{true, true, false}, {true, true, true}, {false, true, true}}) {
    operands.even_lists = even, operands.odd_lists = odd, operands.lists_result = result;
    const OperandCalls lists(example, operands);
    if (!lists.accepted) continue;
    for (const std::size_t rank : example.ranks_with_data()) {
      const Buffers &own = lists.buffers[rank], &due = elements.buffers[rank];
      demand(own.output == due.output, "{}: another result than of elements", lists.text());
      demand(*own.state.save() == *due.state.save(), "{}: another state than of elements", lists.text());
    }
  }
}

/// All ranks bring the same, or neighbours bring different things.
std::vector<Operands> operands_of(Rank size) {
  std::vector<Operands> all;
  for (std::size_t first = 0; first < std::size(all_brings); ++first) {
    for (const std::size_t step : {0u, 1u}) {
      Operands& operands = all.emplace_back();
      for (std::size_t rank = 0; rank < static_cast<std::size_t>(size); ++rank) {
        operands.brings.push_back(all_brings[(first + step * rank) % std::size(all_brings)]);
      }
    }
    if (size == 1) all.pop_back();
  }
  return all;
}

void check_operands(const Example& example) {
  for (const Operands& operands : operands_of(example.size())) {
    const OperandCalls elements(example, operands);
    if (entry_length(example.options) > 0) compare_lists(example, elements, operands);
  }
}

}  // namespace

void serves_every_length_of_operands(const Method& method) {
  const std::vector<Rank> layouts[] = {{0}, {0, 0}, {0, 1}, {0, 0, 0, 0}, {0, 0, 0, 1}, {0, 1, 2, 3}};
  constexpr std::size_t longest = 256;  // of an entry
  for (Example& example :
       examples_of_all_collectives(method, std::vector<Hosts>(std::begin(layouts), std::end(layouts)), {0, 1, 12})) {
    example.count *= length_of_entries(example);
    if (example.count <= 12 * longest) check_operands(example);
  }
}

}  // namespace lacuna::conformance
