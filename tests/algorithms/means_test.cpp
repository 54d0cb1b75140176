#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "algorithms/registry/registry.hpp"
#include "tests/kernels/oracle.hpp"
#include "tests/support/calls.hpp"

// Means of the smallest numbers. Those of the largest ones are in all tests that compare with the Oracle.
namespace lacuna::test {
namespace {

constexpr std::size_t count = 67;
constexpr double smallest = 0x1p-24;  // of f16

using Elements = std::vector<std::uint16_t>;

double number(std::uint16_t element) { return oracle::decode(Dtype::F16, element); }

/// The largest error of a mean of some of the smallest numbers, over all ranks and elements, in smallest numbers.
double error_of(const Algorithm& algorithm, Rank size) {
  Ranks ranks(size);
  std::mt19937 random(static_cast<unsigned>(size));
  std::vector<Elements> inputs, outputs;
  std::vector<Call> calls;
  for (Rank rank = 0; rank < size; ++rank) {
    Call call{.collective = algorithm.collective, .count = count, .dtype = Dtype::F16, .reduction = Reduction::Avg};
    call.options.algorithm = algorithm.name;
    Elements& input = inputs.emplace_back(input_length(call, size));
    for (std::uint16_t& element : input) element = static_cast<std::uint16_t>(random() % 40);
    outputs.emplace_back(output_length(call, size));
    calls.push_back(call);
  }
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    calls[rank].input = inputs[rank].data();
    calls[rank].output = outputs[rank].data();
  }
  for (const Status& status : ranks.run(calls)) EXPECT_TRUE(status) << status.to_string();
  double largest = 0;
  for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
    if (!writes_output(algorithm.collective, static_cast<Rank>(rank), 0)) continue;
    const std::size_t first = algorithm.collective == Collective::ReduceScatter ? rank * count : 0;
    for (std::size_t i = 0; i < outputs[rank].size(); ++i) {
      double sum = 0;
      for (const Elements& input : inputs) sum += number(input[first + i]);
      largest = std::max(largest, std::abs(number(outputs[rank][i]) - sum / size) / smallest);
    }
  }
  return largest;
}

TEST(Means, OfTheSmallestNumbersAreOffByAsManyOfThemAsThereAreRanksAtMostAndByARoundingOnTwoRanks) {
  for (const Algorithm* algorithm : all_algorithms()) {
    if (!traits_of(algorithm->collective).averages || has_tables(algorithm->collective)) continue;
    for (Rank size : {1, 2, 3, 4, 7, 8, 16}) {
      const double most = size <= 2 ? 0.5 : size;
      EXPECT_LE(error_of(*algorithm, size), most) << algorithm->name << " on " << size;
    }
  }
}

}  // namespace
}  // namespace lacuna::test
