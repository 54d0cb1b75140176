#include "bindings/cli/perf/data.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "algorithms/skip/skip.hpp"
#include "bindings/cli/perf/perf.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "kernels/elements.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::cli {
namespace {

constexpr Rank size = 3;
constexpr std::size_t count = 1000;
constexpr std::size_t chunk_bytes = 256 << 10;  // LACUNA_CHUNK's default

/// Carries out one call on the ranks of this process, as `lacuna perf` would.
class Carried {
 public:
  explicit Carried(const Call& given, const std::optional<Pattern>& pattern = {}) : pattern_(pattern) {
    auto ranks = Communicator::local(size, {.progress = Progress::Caller});
    EXPECT_TRUE(ranks);
    const std::size_t width = size_of(given.dtype);
    std::vector<Request> requests;
    for (Rank rank = 0; rank < size; ++rank) {
      Call call = given;
      call.count = count;
      give_tables(call, rank, size, counts_[static_cast<std::size_t>(rank)]);
      auto& input = inputs_.emplace_back(input_length(call, size) * width);
      auto& output = outputs.emplace_back(output_length(call, size) * width);
      call.input = input.data();
      call.output = output.data();
      Sampler mine = sampler_;
      call.options.sampler = &mine;
      const std::size_t filled = fill_input(call, rank, input, inputs_have());
      EXPECT_EQ(filled, entries(call.dtype, input));
      auto request = (*ranks)[static_cast<std::size_t>(rank)].start(call);
      EXPECT_TRUE(request) << request.status().to_string();
      requests.push_back(*std::move(request));
      calls_.push_back(call);
    }
    for (bool all = false; !all;) {
      all = true;
      for (Request& request : requests) all = request.test() && all;
    }
  }

  std::size_t wrong(std::size_t rank) const {
    return count_wrong({calls_[rank], sampler_, static_cast<Rank>(rank), size, chunk_bytes, {}, inputs_have()},
                       outputs[rank]);
  }
  std::size_t wrong() const { return wrong(0) + wrong(1) + wrong(2); }

  SquaredError error() const {
    Call call = calls_[0];
    call.options.method = {};
    return squared_error({call, sampler_, 0, size, chunk_bytes, {}, inputs_have()}, outputs[0]);
  }

  std::vector<std::vector<std::byte>> outputs;

 private:
  const Pattern* inputs_have() const { return pattern_ ? &*pattern_ : nullptr; }
  static std::size_t entries(Dtype dtype, const std::vector<std::byte>& input) {
    std::size_t all = 0;
    for (std::size_t i = 0; i < input.size() / size_of(dtype); ++i) {
      all += kernels::load_number(dtype, input.data(), i) != 0;
    }
    return all;
  }

  std::optional<Pattern> pattern_;
  Sampler sampler_{.seed = 3, .key = 4, .draw = 5};
  std::vector<std::vector<std::byte>> inputs_;
  std::array<std::vector<std::size_t>, size> counts_;
  std::vector<Call> calls_;
};

TEST(Percentiles, AreTheSmallestTimesThatSoManyDoNotExceed) {
  std::vector<double> times;
  for (int samples = 1; samples <= 200; ++samples) {
    times.insert(times.begin(), samples);
    const Percentiles p = percentiles_of(times);
    EXPECT_EQ(p.least, 1);
    for (const auto& [percent, time] : {std::pair(50, p.p50), {95, p.p95}, {99, p.p99}}) {
      EXPECT_GE(100 * time, percent * samples) << percent << " of " << samples;
      EXPECT_LT(100 * (time - 1), percent * samples) << percent << " of " << samples;
    }
  }
}

class PerfData : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(, PerfData, testing::ValuesIn(real_dtypes),
                         [](const auto& given) { return std::string(to_string(given.param)); });

TEST_P(PerfData, RightResultsOfEveryCollectiveAndReductionHaveNoWrongElement) {
  for (Collective collective : all_collectives) {
    if (!moves_data(collective)) continue;
    for (Reduction reduction : all_reductions) {
      if (!takes(collective, GetParam(), reduction)) continue;
      const Carried carried({.collective = collective, .dtype = GetParam(), .reduction = reduction, .root = 1});
      EXPECT_EQ(carried.wrong(), 0u) << to_string(collective) << " " << to_string(reduction);
    }
  }
}

TEST_P(PerfData, RightResultsOfSkipRingHaveNoWrongElement) {
  for (int skip : {1, 2}) {
    for (SkipMode mode : {SkipMode::Static, SkipMode::Random}) {
      const Carried carried({.collective = Collective::Allreduce,
                             .dtype = GetParam(),
                             .options = {.algorithm = "ring", .method = lacuna::skip({.steps = skip, .mode = mode})}});
      EXPECT_EQ(carried.wrong(), 0u) << skip << " " << to_string(mode);
    }
  }
}

TEST_P(PerfData, AFlippedBitOfAnyByteIsOneWrongElementFirstAndLastOnesToo) {
  for (Collective collective : all_collectives) {
    if (!moves_data(collective) || has_root(collective)) continue;
    Carried carried({.collective = collective, .dtype = GetParam()});
    const std::size_t width = size_of(GetParam()), elements = carried.outputs[2].size() / width;
    for (std::size_t element : {std::size_t{0}, std::size_t{577}, elements - 1}) {
      for (std::size_t byte = 0; byte < width; ++byte) {
        std::byte& hit = carried.outputs[2][element * width + byte];
        hit ^= std::byte{1};
        EXPECT_EQ(carried.wrong(2), 1u) << to_string(collective) << " element " << element << " byte " << byte;
        EXPECT_EQ(carried.wrong(), 1u);
        hit ^= std::byte{1};
      }
    }
    EXPECT_EQ(carried.wrong(), 0u);
  }
}

TEST_P(PerfData, AResultThatLiesElsewhereIsWrong) {
  const std::size_t width = size_of(GetParam());
  for (std::size_t shift : {1, 8, 64, 256}) {
    Carried carried({.collective = Collective::Allreduce, .dtype = GetParam()});
    auto& output = carried.outputs[0];
    std::memmove(output.data(), output.data() + shift * width, output.size() - shift * width);
    EXPECT_GT(carried.wrong(0), count / 2) << shift;
  }
}

TEST_P(PerfData, ALeftOutRankIsWrongUnlessItWasToBeLeftOut) {
  Carried without({.collective = Collective::Allreduce,
                   .dtype = GetParam(),
                   .options = {.algorithm = "skip_ring", .method = lacuna::skip({.steps = 1})}});
  Carried dense({.collective = Collective::Allreduce, .dtype = GetParam()});
  without.outputs.swap(dense.outputs);
  EXPECT_GT(without.wrong(), count);
  EXPECT_GT(dense.wrong(), count);
}

Pattern pattern(const char* text, double density) {
  auto options = *pattern_options(text);
  options.density = density;
  return Pattern(options, count);
}

TEST_P(PerfData, RightResultsOfSparseInputsHaveNoWrongElement) {
  for (const char* text : {"uniform", "clustered", "blocks:48", "rows:48", "skewed"}) {
    for (Collective collective : {Collective::Allreduce, Collective::ReduceScatter, Collective::Allgatherv}) {
      const Carried carried({.collective = collective, .dtype = GetParam()}, pattern(text, 0.1));
      EXPECT_EQ(carried.wrong(), 0u) << to_string(collective) << " " << text;
    }
  }
}

TEST(PerfValues, AreNotZeroWhereThePatternSaysSo) {
  const Pattern some = pattern("uniform", 0.3);
  const Call call{.collective = Collective::Allreduce};
  for (std::size_t element = 0; element < count; ++element) {
    ASSERT_EQ(perf_value(call, 2, element, &some) != 0, some.has(2, element)) << element;
  }
}

TEST(PerfValues, ASumThatLacksATermHasTheErrorOfIt) {
  const Pattern some = pattern("uniform", 0.3);
  const Call call{.collective = Collective::Allreduce};
  Carried carried(call, some);
  EXPECT_EQ(carried.error().off, 0);
  double dense = 0, first = 0;
  for (std::size_t element = 0; element < count; ++element) {
    const double mine = perf_value(call, 0, element, &some);
    const double sum = mine + perf_value(call, 1, element, &some) + perf_value(call, 2, element, &some);
    dense += sum * sum;
    first += mine * mine;
    const auto without = static_cast<float>(sum - mine);
    std::memcpy(carried.outputs[0].data() + 4 * element, &without, sizeof without);
  }
  EXPECT_EQ(carried.error().dense, dense);
  EXPECT_EQ(carried.error().off, first);
}

TEST(PerfValues, SumsOfThousandsOfRanksAreExactInTheNarrowTypes) {
  for (const auto& [dtype, most] : {std::pair(Dtype::BF16, 256.0), {Dtype::F16, 2048.0}}) {
    const Call call{.collective = Collective::Allreduce, .dtype = dtype};
    for (std::size_t element = 0; element < 3000; ++element) {
      double sum = 0;
      for (Rank rank = 0; rank < 4096; ++rank) sum += perf_value(call, rank, element);
      ASSERT_LE(sum, most) << to_string(dtype) << " " << element;
    }
    for (Rank rank = 0; rank < 4096; ++rank) {
      double of_rank = 0;
      for (std::size_t element = 0; element < 1024; ++element) of_rank += perf_value(call, rank, element);
      ASSERT_GT(of_rank, 0) << "rank " << rank << " would not be missed";
    }
  }
}

}  // namespace
}  // namespace lacuna::cli
