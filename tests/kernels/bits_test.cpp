#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/values/digest.hpp"
#include "tests/kernels/bits_computed.hpp"

/// Whatever a kernel is compiled for, it gives the bits of the baseline. NaNs are an exception: the standard does not
/// say which NaN comes out.
namespace lacuna::kernels {
namespace {

/// The instruction sets other than the baseline. Their loops come from the same source. Kokkos is not among them,
/// because it may add in another order.
std::vector<std::string> further_sets() {
  std::vector<std::string> names = backend_names();
  std::erase(names, "kokkos");
  names.erase(names.begin());
  return names;
}

const Backend& baseline() { return backend_to_test(backend_names().front()); }

using Compute = void (*)(const Backend& on, const Given& given, Results& results);

/// Calls visit(array, its name) for one array of each length and kind.
template <class Visit>
void each_array(Dtype dtype, const Visit& visit) {
  for (std::size_t count : {1u, 7u, 255u, 1000u, 20011u}) {
    for (const auto& [kind, draw] : test::inputs) {
      visit(Given{dtype, count, draw}, std::string(to_string(dtype)) + ", " + std::to_string(count) + " " + kind);
    }
  }
}

constexpr std::array long_dtypes = {Dtype::F32, Dtype::F64};
constexpr std::array dtypes_of_parts = {Dtype::F32, Dtype::F64, Dtype::I32, Dtype::I64};

class BitsOf : public EachBackend {
 protected:
  /// Compares what `compute` makes of all kinds of arrays with what the baseline makes of them.
  void expect_those_of_the_baseline(std::span<const Dtype> dtypes, Compute compute) const {
    for (Dtype dtype : dtypes) {
      each_array(dtype, [&](const Given& given, const std::string& name) {
        Results expected, found;
        ASSERT_NO_FATAL_FAILURE(compute(baseline(), given, expected));
        ASSERT_NO_FATAL_FAILURE(compute(backend(), given, found));
        expect_equal(found, expected, name);
      });
    }
  }

 private:
  static void expect_equal(const Results& found, const Results& expected, const std::string& of) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(found[i].second == expected[i].second) << found[i].first << " of " << of;
    }
  }
};

TEST_P(BitsOf, ReductionsAreThoseOfTheBaseline) { expect_those_of_the_baseline(real_dtypes, reduce_all); }
TEST_P(BitsOf, ComplexAndLocatedElementsAreThoseOfTheBaseline) {
  expect_those_of_the_baseline(dtypes_of_parts, reduce_compounds);
}
TEST_P(BitsOf, ErrorFeedbackIsThatOfTheBaseline) { expect_those_of_the_baseline(test::float_dtypes, feed_back_all); }
TEST_P(BitsOf, ConversionsAreThoseOfTheBaseline) { expect_those_of_the_baseline(test::float_dtypes, convert_all); }
TEST_P(BitsOf, LevelsAreThoseOfTheBaseline) { expect_those_of_the_baseline(long_dtypes, level_all); }
TEST_P(BitsOf, FactorsAreThoseOfTheBaseline) { expect_those_of_the_baseline(long_dtypes, factor_all); }
TEST_P(BitsOf, SelectionsAreThoseOfTheBaseline) { expect_those_of_the_baseline(test::float_dtypes, select_all); }
TEST_P(BitsOf, ListsAreThoseOfTheBaseline) { expect_those_of_the_baseline(test::float_dtypes, place_all); }
TEST_P(BitsOf, WhatIsLookedUpIsThatOfTheBaseline) { expect_those_of_the_baseline(real_dtypes, look_up_all); }
TEST_P(BitsOf, SketchesAreThoseOfTheBaseline) { expect_those_of_the_baseline(real_dtypes, sketch_all); }
TEST_P(BitsOf, BlocksAreThoseOfTheBaseline) { expect_those_of_the_baseline(real_dtypes, block_all); }
TEST_P(BitsOf, MessagesAndTheirSumsAreThoseOfTheBaseline) {
  expect_those_of_the_baseline(test::float_dtypes, add_messages);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BitsOf);  // some architectures have only the baseline
INSTANTIATE_TEST_SUITE_P(, BitsOf, testing::ValuesIn(further_sets()), name_of_backend);

/// A digest of what kernels compute from all arrays of a dtype. No process can compare two architectures, so all of
/// them must compute what one of them has computed.
struct Known {
  std::string_view what;
  Compute compute;
  Dtype dtype;
  std::uint64_t digest;
};
constexpr Known known_bits[] = {
    {"reductions", reduce_all, Dtype::F32, 0xdd5763b4c666bbcd},
    {"reductions", reduce_all, Dtype::F64, 0x61f210489efd2c05},
    {"reductions", reduce_all, Dtype::BF16, 0xbb27adfd5bed30b1},
    {"reductions", reduce_all, Dtype::F16, 0xcc000571bf0f1a8f},
    {"reductions", reduce_all, Dtype::I32, 0xadce90eec444d03f},
    {"reductions", reduce_all, Dtype::I64, 0x496754a5d7eb281d},
    {"reductions", reduce_all, Dtype::U8, 0x9bfc537d21397c9a},
    {"reductions", reduce_all, Dtype::I8, 0x9f9cb1c52324eac2},
    {"reductions", reduce_all, Dtype::I16, 0xabcadd6eccd9f035},
    {"reductions", reduce_all, Dtype::U16, 0x685c80f23ecc5c07},
    {"reductions", reduce_all, Dtype::U32, 0xdfca2cef787636ad},
    {"reductions", reduce_all, Dtype::U64, 0x4320b9ae71587c6e},
    {"compounds", reduce_compounds, Dtype::F32, 0x3d869bb49c67f0ef},
    {"compounds", reduce_compounds, Dtype::F64, 0x9c00e8e43f29f869},
    {"compounds", reduce_compounds, Dtype::I32, 0xd8accf1345e6fcff},
    {"compounds", reduce_compounds, Dtype::I64, 0xa2924f59b28ed5f0},
    {"error feedback", feed_back_all, Dtype::F32, 0x94315b9b998ed58a},
    {"error feedback", feed_back_all, Dtype::F64, 0x29a1470ed94b07c8},
    {"error feedback", feed_back_all, Dtype::BF16, 0xff00c22bb7a95f6c},
    {"error feedback", feed_back_all, Dtype::F16, 0x9d2dc62b4fe286fe},
    {"conversions", convert_all, Dtype::F32, 0xa12a92638a0f57da},
    {"conversions", convert_all, Dtype::F64, 0xffc4fe22c156478d},
    {"conversions", convert_all, Dtype::BF16, 0x234e411725003a00},
    {"conversions", convert_all, Dtype::F16, 0xa10a8817ebec8038},
    {"levels", level_all, Dtype::F32, 0xc3a925e5a536021b},
    {"levels", level_all, Dtype::F64, 0x1f6c290d699621c3},
    {"factors", factor_all, Dtype::F32, 0x8d9d757de8aaa825},
    {"factors", factor_all, Dtype::F64, 0xc4fc43f7777b4457},
    {"selections", select_all, Dtype::F32, 0x3115ebd4e098f217},
    {"selections", select_all, Dtype::F64, 0x035b61e9f06411ca},
    {"selections", select_all, Dtype::BF16, 0x89d6daf6799f22f1},
    {"selections", select_all, Dtype::F16, 0xa470fcd97c26a8ba},
    {"lists", place_all, Dtype::F32, 0xd65c3815d76e69fb},
    {"lists", place_all, Dtype::F64, 0x3e3d287352240b42},
    {"lists", place_all, Dtype::BF16, 0x8d9032e7265fc7dc},
    {"lists", place_all, Dtype::F16, 0x5843563ab1b54880},
    {"looked up", look_up_all, Dtype::F32, 0x9f6e889f64927d00},
    {"looked up", look_up_all, Dtype::F64, 0x5cd76379f1b43b60},
    {"looked up", look_up_all, Dtype::BF16, 0xdec8a89d0e3ac588},
    {"looked up", look_up_all, Dtype::F16, 0x8a59a905cbf32eb1},
    {"looked up", look_up_all, Dtype::I32, 0x1cf3caea73f29034},
    {"looked up", look_up_all, Dtype::I64, 0x23f75169a5252f32},
    {"looked up", look_up_all, Dtype::U8, 0xe286f8c73a9b8348},
    {"looked up", look_up_all, Dtype::I8, 0x82a70e4ba4a0e34f},
    {"looked up", look_up_all, Dtype::I16, 0x2d8d85750d9f71e2},
    {"looked up", look_up_all, Dtype::U16, 0xda6084aa4545cdd5},
    {"looked up", look_up_all, Dtype::U32, 0x867b7b8f3961d8d5},
    {"looked up", look_up_all, Dtype::U64, 0xb2d1e9c69ad94c98},
    {"blocks", block_all, Dtype::F32, 0x43ea88ba410b5477},
    {"blocks", block_all, Dtype::F64, 0xbbfb2d0c8c3a5af2},
    {"blocks", block_all, Dtype::BF16, 0x13265eb68809a244},
    {"blocks", block_all, Dtype::F16, 0x532952d4acea1d0e},
    {"blocks", block_all, Dtype::I32, 0x85a836fada3cf4a8},
    {"blocks", block_all, Dtype::I64, 0xd6553fbc46fb12de},
    {"blocks", block_all, Dtype::U8, 0x833e11662554fc89},
    {"blocks", block_all, Dtype::I8, 0xacc3a638e70fe0fa},
    {"blocks", block_all, Dtype::I16, 0xc754288d58e097f9},
    {"blocks", block_all, Dtype::U16, 0xd8fece7a452fcf89},
    {"blocks", block_all, Dtype::U32, 0x18d67aa52cbddc50},
    {"blocks", block_all, Dtype::U64, 0xb6ce988f31ffac0e},
    {"sketches", sketch_all, Dtype::F32, 0x91d079ed0c41545d},
    {"sketches", sketch_all, Dtype::F64, 0x3369037fa4cfbc8f},
    {"sketches", sketch_all, Dtype::BF16, 0x6bb8d67070383ceb},
    {"sketches", sketch_all, Dtype::F16, 0x01f45cc2a91cfe28},
    {"sketches", sketch_all, Dtype::I32, 0xc4e7933355a6d85c},
    {"sketches", sketch_all, Dtype::I64, 0x42fbd70ca2234961},
    {"sketches", sketch_all, Dtype::U8, 0x96d83e785d57bb0b},
    {"sketches", sketch_all, Dtype::I8, 0x38e13ca8ee15b206},
    {"sketches", sketch_all, Dtype::I16, 0xe72377c35b13efb2},
    {"sketches", sketch_all, Dtype::U16, 0x79fd572f93faa350},
    {"sketches", sketch_all, Dtype::U32, 0xe47e99545530792d},
    {"sketches", sketch_all, Dtype::U64, 0x42fbd70ca2234961},
    {"messages", add_messages, Dtype::F32, 0xfa638299ced2d4f6},
    {"messages", add_messages, Dtype::F64, 0x428649907eb2295b},
    {"messages", add_messages, Dtype::BF16, 0x6f366a855b9cc499},
    {"messages", add_messages, Dtype::F16, 0x709a0f1d669b1a78},
};

TEST(Bits, OfTheBaselineAreTheSameOnAllArchitectures) {
  for (const Known& known : known_bits) {
    Digest digest;
    each_array(known.dtype, [&](const Given& given, const std::string&) {
      Results results;
      ASSERT_NO_FATAL_FAILURE(known.compute(baseline(), given, results));
      for (const auto& [name, bits] : results) {
        for (std::uint64_t word : bits) digest.add(word);
      }
    });
    EXPECT_EQ(digest.value(), known.digest) << known.what << " of " << to_string(known.dtype);
  }
}

}  // namespace
}  // namespace lacuna::kernels
