#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/support/parts_method.hpp"
#include "tests/support/ranks.hpp"

// Plans with as many parts as a method wants.
namespace lacuna::test {
namespace {

using Numbers = std::vector<std::int32_t>;

/// A call of parts_method on two ranks.
struct Job {
  explicit Job(std::size_t count) : inputs(2, Numbers(count)), outputs(2, Numbers(count, -1)) {
    for (Numbers& input : inputs) std::iota(input.begin(), input.end(), 1);
  }

  Result<runtime::Run*> post(Ranks& ranks, Rank rank, const Parts& asked) {
    const auto me = static_cast<std::size_t>(rank);
    Call call{.collective = Collective::Allreduce,
              .input = inputs[me].data(),
              .output = outputs[me].data(),
              .count = inputs[me].size(),
              .dtype = Dtype::I32};
    call.options.method = parts_options(asked);
    return ranks.communicator(rank).post(call, parts_algorithm);
  }

  std::vector<Numbers> inputs, outputs;
};

TEST(ManyParts, APlanOfMorePartsThanSixteenBitsNumberSumsEachElement) {
  Ranks ranks(2);
  Job job(65'536 + 100);
  const Parts each = {.parts = job.inputs[0].size()};
  const runtime::Run* runs[] = {*job.post(ranks, 0, each), *job.post(ranks, 1, each)};
  ASSERT_TRUE(ranks.sweep_until([&] { return runs[0]->finished && runs[1]->finished; }));
  for (const runtime::Run* run : runs) ASSERT_TRUE(run->status) << run->status.to_string();
  Numbers expected(job.inputs[0].size());
  std::iota(expected.begin(), expected.end(), 1);
  for (std::int32_t& number : expected) number *= 2;
  EXPECT_EQ(job.outputs, std::vector<Numbers>(2, expected));
}

}  // namespace
}  // namespace lacuna::test
