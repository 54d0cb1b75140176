#include <algorithm>
#include <cstring>

#include "algorithms/registry/registry.hpp"
#include "tests/conformance/example.hpp"
#include "tests/conformance/fault.hpp"
#include "tests/conformance/properties.hpp"
#include "tests/support/drawn_options.hpp"

namespace lacuna::conformance {
namespace {

constexpr std::size_t elements = 100, place = 37;

/// Bits of positive numbers of a type, which order as the numbers do.
struct Type {
  Dtype dtype;
  std::uint32_t large;  ///< the largest power of two; a sum of two is out of range
  std::uint32_t half;   ///< of that
  std::uint32_t infinity;
};
constexpr Type types[] = {{Dtype::F16, 0x7800, 0x7400, 0x7c00},
                          {Dtype::BF16, 0x7f00, 0x7e80, 0x7f80},
                          {Dtype::F32, 0x7f000000, 0x7e800000, 0x7f800000}};

using Memory = std::vector<std::byte>;

void set(const Type& type, Memory& memory, std::size_t i, std::uint32_t bits) {
  std::memcpy(&memory[i * size_of(type.dtype)], &bits, size_of(type.dtype));
}
std::uint32_t bits_of(const Type& type, const Memory& memory, std::size_t i) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &memory[i * size_of(type.dtype)], size_of(type.dtype));
  return bits;
}

/// Is every element finite?
bool is_finite(const Type& type, const Memory& memory) {
  const std::uint32_t sign = std::uint32_t{1} << (8 * size_of(type.dtype) - 1);
  for (std::size_t i = 0; i < elements; ++i) {
    if ((bits_of(type, memory, i) & ~sign) >= type.infinity) return false;
  }
  return true;
}

/// Means of what is zero on all ranks, but for one large element.
class Means {
 public:
  Means(const Example& example, const Type& type)
      : example_(example),
        type_(type),
        states_(static_cast<std::size_t>(example.size())),
        input_(elements * size_of(type.dtype)),
        outputs_(states_.size(), input_),
        ranks_(example.size(), test::drawn_options(1)) {
    for (std::size_t rank = 0; rank < states_.size(); ++rank) {
      Call& call = calls_.emplace_back(example.call(states_[rank]));
      call.dtype = type.dtype;
      call.reduction = Reduction::Avg;
      call.input = input_.data();
      call.output = outputs_[rank].data();
    }
  }

  bool is_accepted() const { return select_algorithm(calls_.front(), example_.hosts).is_ok(); }

  /// Makes a call in which all ranks have this number. Returns whether all elements of the results are finite.
  bool run(std::uint32_t number) {
    set(type_, input_, place, number);
    for (const Status& end : ranks_.run(calls_)) demand(end.is_ok(), "{}: {}", text(), end.to_string());
    const std::vector<std::size_t> ranks = example_.ranks_with_data();
    return std::all_of(ranks.begin(), ranks.end(), [&](std::size_t rank) { return is_finite(type_, outputs_[rank]); });
  }

  void check() {
    const auto loses_nothing = example_.method->lossless;
    const bool is_exact = loses_nothing && loses_nothing(calls_.front(), example_.hosts, elements);
    for (const std::uint32_t number : {type_.large, type_.half}) {
      demand(run(number), "{}: a mean is out of range", text());
      const bool is_right = !is_exact || bits_of(type_, outputs_.front(), place) == number;
      demand(is_right, "{}: a mean is not the number that all ranks have", text());
    }
  }

 private:
  std::string text() const { return fmt::format("{} of {}", example_.text, to_string(type_.dtype)); }

  const Example& example_;
  const Type& type_;
  std::vector<MethodState> states_;
  Memory input_;
  std::vector<Memory> outputs_;
  std::vector<Call> calls_;
  test::Ranks ranks_;  // it must end before what its calls use
};

/// Numbers that messages do not hold on one rank either are not asked for.
void check_means(const Example& example, const Type& type) {
  Example alone = example;
  alone.hosts = 1;
  Means of_one(alone, type), means(example, type);
  if (of_one.is_accepted() && !of_one.run(type.large)) return;
  if (means.is_accepted()) means.check();
}

}  // namespace

void has_means_in_range(const Method& method) {
  for (Rank size = 1; size <= 9; ++size) {
    for (const Example& example : written_examples_of(method, size, elements)) {
      for (const Type& type : types) check_means(example, type);
    }
  }
}

}  // namespace lacuna::conformance
