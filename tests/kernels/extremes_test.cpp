#include <gtest/gtest.h>

#include <array>

#include "tests/kernels/backends.hpp"
#include "tests/kernels/block.hpp"

namespace lacuna::kernels {
namespace {

using test::block_of;
using test::element;

class Extremes : public EachBackend {};
INSTANTIATE_TEST_SUITE_P(, Extremes, testing::ValuesIn(backend_names()), name_of_backend);

/// The bits of some special elements of a type.
struct Bits {
  Dtype dtype;
  std::uint64_t infinity, quiet, one, sign;

  /// A quiet NaN with a payload.
  std::uint64_t quiet_nan() const { return infinity | quiet | 5; }
  /// A signalling NaN with a payload.
  std::uint64_t signalling_nan() const { return infinity | 5; }
  bool is_nan(std::uint64_t bits) const { return (bits & ~sign) > infinity; }
  bool is_quiet(std::uint64_t bits) const { return (bits & quiet) != 0; }
};

constexpr std::array all_bits = {
    Bits{Dtype::F32, 0x7f800000, 0x00400000, 0x3f800000, 0x80000000},
    Bits{Dtype::F64, 0x7ff0000000000000, 0x0008000000000000, 0x3ff0000000000000, 0x8000000000000000},
    Bits{Dtype::BF16, 0x7f80, 0x0040, 0x3f80, 0x8000},
    Bits{Dtype::F16, 0x7c00, 0x0200, 0x3c00, 0x8000},
};

/// Makes many elements of `a` and of `b`, so that loops over several elements at a time run too.
std::uint64_t reduced(const Backend& on, Dtype dtype, Reduction reduction, std::uint64_t a, std::uint64_t b) {
  constexpr std::size_t count = 37;
  const std::vector<std::uint64_t> as(count, a), bs(count, b);
  test::Block first = block_of(dtype, as, 0), second = block_of(dtype, bs, 0), out = block_of(dtype, as, 0);
  on.reduce(reduction, {}, {dtype, out.data(), count}, first.data(), second.data());
  for (std::size_t i = 1; i < count; ++i) EXPECT_EQ(element(dtype, out.data(), i), element(dtype, out.data(), 0));
  return element(dtype, out.data(), 0);
}

TEST_P(Extremes, ASignallingNanOfEitherOperandBecomesAQuietOne) {
  for (const Bits& of : all_bits) {
    const std::array<std::uint64_t, 6> others = {
        0, of.one, of.one | of.sign, of.infinity, of.infinity | of.sign, of.quiet_nan()};
    for (Reduction reduction : {Reduction::Min, Reduction::Max}) {
      for (std::uint64_t sign : {std::uint64_t{0}, of.sign}) {
        const std::uint64_t nan = of.signalling_nan() | sign;
        for (std::uint64_t other : others) {
          for (const auto& [a, b] : {std::pair(nan, other), std::pair(other, nan), std::pair(nan, nan)}) {
            const std::uint64_t result = reduced(backend(), of.dtype, reduction, a, b);
            EXPECT_TRUE(of.is_nan(result) && of.is_quiet(result))
                << to_string(of.dtype) << " " << to_string(reduction) << " of " << std::hex << a << " and " << b
                << " is " << result;
          }
        }
      }
    }
  }
}

TEST_P(Extremes, OfZerosTheNegativeOneIsLess) {
  for (const Bits& of : all_bits) {
    for (const auto& [a, b] : {std::pair(std::uint64_t{0}, of.sign), std::pair(of.sign, std::uint64_t{0})}) {
      EXPECT_EQ(reduced(backend(), of.dtype, Reduction::Min, a, b), of.sign) << to_string(of.dtype);
      EXPECT_EQ(reduced(backend(), of.dtype, Reduction::Max, a, b), 0u) << to_string(of.dtype);
    }
  }
}

}  // namespace
}  // namespace lacuna::kernels
