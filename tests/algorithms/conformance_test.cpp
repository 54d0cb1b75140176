#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/registry/registry.hpp"
#include "tests/support/collective_case.hpp"
#include "tests/support/covering_rows.hpp"
#include "tests/support/delayed_compute.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::test {
namespace {

constexpr std::size_t chunk_bytes = 256;      // small, so that a call has several parts
constexpr std::size_t largest_count = 1031;   // a prime
constexpr std::uint64_t plenty = 1ull << 40;  // bytes of credit, so that no message is sent only to return it

/// How the ranks run, and which limits are small.
struct Condition {
  const char* name;
  bool threads = false;
  InprocOptions network = {};
  runtime::ExecutorOptions executor = quick_executor();
  OnDevice devices = OnDevice::None;
  Rank most = 5;  ///< ranks
};

RanksOptions options_of(const Condition& condition, const std::vector<Rank>& hosts) {
  RanksOptions options{condition.network, condition.executor, hosts, condition.devices};
  options.executor.chunk_bytes = chunk_bytes;
  return options;
}

std::vector<std::size_t> counts(Rank size) {
  const auto p = static_cast<std::size_t>(size);
  std::vector<std::size_t> all = {0, 1, p - 1, p, p + 1, 17, 257, largest_count};
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Runs cases on ranks and buffers that are made once.
class Bench {
 public:
  Bench(Rank size, const Condition& condition, const std::vector<Rank>& hosts = {})
      : condition_(condition),
        ranks_(size, options_of(condition, hosts)),
        oracles_(size, oracle_elements(largest_count, size)),
        buffers_(static_cast<std::size_t>(size)),
        samplers_(buffers_.size()) {}

  /// Runs one case in one thread and checks results and payload. If each message carries at most `message_bytes`, and
  /// none is sent only for credit, checks the number of messages too.
  void check(const Case& what, std::optional<std::size_t> message_bytes = {}) {
    const Oracle& oracle = oracles_.get(what.dtype, what.reduction);
    std::vector<Call> calls;
    std::vector<Counters> before;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      calls.push_back(buffers_[i].prepare(what, static_cast<Rank>(i), oracle, samplers_[i]));
      before.push_back(ranks_.counters(static_cast<Rank>(i)));
    }
    const auto outcome = ranks_.run(calls);
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const auto rank = static_cast<Rank>(i);
      ASSERT_TRUE(outcome[i]) << to_string(what) << ": rank " << rank << ": " << outcome[i].to_string();
      const std::string wrong = buffers_[i].check(what, rank, oracle, chunk_bytes);
      ASSERT_TRUE(wrong.empty()) << to_string(what) << ": " << wrong;
      const auto expected = expected_traffic(what, rank, chunk_bytes, message_bytes.value_or(1));
      if (!expected) continue;
      const Counters after = ranks_.counters(rank);
      ASSERT_EQ(after.payload_sent - before[i].payload_sent, expected->payload) << to_string(what) << " rank " << rank;
      if (!message_bytes) continue;
      ASSERT_EQ(after.messages_sent - before[i].messages_sent, expected->messages)
          << to_string(what) << " rank " << rank;
      ASSERT_EQ(after.header_sent, after.messages_sent * 48);
    }
  }

  /// Runs all cases with a thread for each rank, which continues with the next case without waiting for the others.
  void check_in_threads(const std::vector<Case>& cases) {
    for (const Case& what : cases) oracles_.get(what.dtype, what.reduction);
    std::vector<std::string> wrong(buffers_.size());
    std::vector<std::optional<std::uint64_t>> payload(buffers_.size(), 0);  // while all formulas are known
    ranks_.each_in_thread([&](Rank rank) {
      const auto i = static_cast<std::size_t>(rank);
      for (const Case& what : cases) {
        const Oracle& oracle = shared_oracle(what);
        const Status status = ranks_.run_on(rank, buffers_[i].prepare(what, rank, oracle, samplers_[i]));
        wrong[i] = status ? buffers_[i].check(what, rank, oracle, chunk_bytes) : status.to_string();
        if (!wrong[i].empty()) wrong[i] = to_string(what) + ": " + wrong[i];
        if (!wrong[i].empty()) return;
        const auto expected = expected_traffic(what, rank, chunk_bytes, 1);
        if (payload[i]) payload[i] = expected ? std::optional(*payload[i] + expected->payload) : std::nullopt;
      }
    });
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      ASSERT_EQ(wrong[i], "");
      if (!payload[i]) continue;
      ASSERT_EQ(ranks_.counters(static_cast<Rank>(i)).payload_sent, *payload[i]) << "rank " << i;
    }
  }

  void check_all(std::vector<Case> cases) {
    if (condition_.devices != OnDevice::None) std::erase_if(cases, is_only_for_hosts);
    if (condition_.threads) return check_in_threads(cases);
    for (const Case& what : cases) ASSERT_NO_FATAL_FAILURE(check(what));
  }

 private:
  /// A program's own function computes on the host.
  static bool is_only_for_hosts(const Case& what) { return what.reduction == Reduction::Own; }
  const Oracle& shared_oracle(const Case& what) { return oracles_.get(what.dtype, what.reduction); }

  const Condition condition_;
  Ranks ranks_;
  Oracles oracles_;
  std::vector<RankBuffers> buffers_;
  std::vector<Sampler> samplers_;
};

/// Is it one of the types that are tried with all roots and misalignments? They have all widths up to 8 bytes. Of the
/// others, each reduction is tried on each algorithm and number of elements.
bool is_tried_in_all_ways(Dtype dtype) { return dtype <= Dtype::U8; }

std::vector<std::size_t> misalignments(const Case& what) {
  return is_tried_in_all_ways(what.dtype) ? std::vector<std::size_t>{0, 1, 3} : std::vector<std::size_t>{1};
}

std::vector<Rank> roots(const Case& what) {
  const Rank last = what.size - 1;
  if (!has_root(what.algorithm->collective)) return {0};
  if (!is_tried_in_all_ways(what.dtype)) return {last};
  if (what.size > 5) return {0, 3, last};
  std::vector<Rank> all;
  for (Rank root = 0; root <= last; ++root) all.push_back(root);
  return all;
}

/// Returns the case with every shape of its blocks, whose lengths their receivers know or do not know.
std::vector<Case> with_shapes(Case what) {
  std::vector<Case> all = {what};
  for (std::size_t i = 0; what.has_tables() && i < 2 * shapes; ++i) {
    what.shape = static_cast<Shape>(i / 2);
    what.told = i % 2 == 1;
    if (i > 0 && offered(what).told == what.told) all.push_back(what);
  }
  return all;
}

/// Returns the case with every number of rounds that its algorithm can leave out, in every mode. On many ranks it
/// returns only some numbers.
std::vector<Case> with_skips(Case what) {
  std::vector<Case> all;
  for (what.skip = 0; what.skip<what.size; what.skip += what.size> 9 ? 5 : 1) {
    for (SkipMode mode : {SkipMode::Static, SkipMode::Random, SkipMode::Shuffled}) {
      what.mode = mode;
      if (what.skip == 0 && mode != SkipMode::Static) continue;
      what.sampler = {.seed = 3, .key = what.count, .draw = static_cast<std::uint64_t>(what.skip)};
      if (is_offered(what)) all.push_back(what);
    }
  }
  return all;
}

class Full : public testing::TestWithParam<Rank> {
 protected:
  static constexpr std::size_t message_bytes = 64;

  static Condition condition() {
    Condition plain{.name = "plain"};
    plain.network.eager_limit = message_bytes;
    plain.executor.credit_bytes = plenty;
    return plain;
  }

  void check_reductions(Bench& bench, Case what) {
    const Collective collective = what.algorithm->collective;
    for (Reduction reduction : reductions_of(what.dtype)) {
      if (!traits_of(collective).reduces && reduction != reductions_of(what.dtype).front()) continue;
      what.reduction = reduction;
      if (moves_data(collective)) {
        ASSERT_NO_FATAL_FAILURE(check_data(bench, what));
      } else {
        ASSERT_NO_FATAL_FAILURE(bench.check(what, message_bytes));
      }
    }
  }

  void check_data(Bench& bench, Case what) {
    for (std::size_t count : counts(what.size)) {
      for (Placement placement : {Placement::OutOfPlace, Placement::InPlace, Placement::Mixed}) {
        for (std::size_t misalignment : misalignments(what)) {
          for (Rank root : roots(what)) {
            what.count = count;
            what.placement = placement;
            what.misalignment = misalignment;
            what.root = root;
            for (const Case& shaped : with_shapes(what)) {
              for (const Case& one : with_skips(shaped)) ASSERT_NO_FATAL_FAILURE(bench.check(one, message_bytes));
            }
          }
        }
      }
    }
  }
};

TEST_P(Full, EveryAlgorithmGivesTheOraclesBitsAndSendsTheFormulasBytes) {
  for (Dtype dtype : all_dtypes) {
    Bench bench(GetParam(), condition());
    for (const Algorithm* algorithm : all_algorithms()) {
      const Case what{.algorithm = algorithm, .size = GetParam(), .dtype = dtype};
      ASSERT_NO_FATAL_FAILURE(check_reductions(bench, what));
    }
  }
}

TEST_P(Full, EveryAlgorithmThatAsksForHostsDoesSoOnEveryLayout) {
  for (const std::vector<Rank>& hosts : host_layouts(GetParam())) {
    for (Dtype dtype : {Dtype::F32, Dtype::BF16, Dtype::I64}) {
      Bench bench(GetParam(), condition(), hosts);
      for (const Algorithm* algorithm : all_algorithms()) {
        if (!algorithm->by_hosts) continue;
        const Case what{.algorithm = algorithm, .size = GetParam(), .dtype = dtype, .hosts = hosts};
        ASSERT_NO_FATAL_FAILURE(check_reductions(bench, what));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Full, testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 16),
                         [](const auto& param) { return "P" + std::to_string(param.param); });

/// Returns cases on `size` ranks in which the values of all properties are covered.
std::vector<Case> covering_cases(Rank size, Cover cover, const std::vector<Rank>& hosts = {}) {
  const auto all_counts = counts(size);
  std::vector<Case> cases;
  for (const Algorithm* algorithm : all_algorithms()) {
    if (!hosts.empty() && !algorithm->by_hosts) continue;
    for (const auto& row : covering_rows(
             {all_counts.size(), all_dtypes.size(), all_reductions.size(), 3, 3, 4, 3, 3, shapes, 2}, cover)) {
      const Rank some[] = {0, 1, size / 2, size - 1};
      const Case what{.algorithm = algorithm,
                      .size = size,
                      .count = all_counts[row[0]],
                      .dtype = all_dtypes[row[1]],
                      .reduction = all_reductions[row[2]],
                      .placement = static_cast<Placement>(row[3]),
                      .misalignment = row[4] == 2 ? 3 : row[4],
                      .skip = some[row[5]],
                      .mode = static_cast<SkipMode>(row[6]),
                      .root = some[row[7] + 1],
                      .sampler = {.seed = 5, .key = row[0], .draw = cases.size()},
                      .hosts = hosts,
                      .shape = static_cast<Shape>(row[8]),
                      .told = row[9] == 1};
      cases.push_back(offered(what));
    }
  }
  return cases;
}

Condition with(const char* name, bool threads, void (*change)(InprocOptions&, runtime::ExecutorOptions&),
               OnDevice devices = OnDevice::None) {
  Condition condition{.name = name, .threads = threads, .devices = devices};
  condition.network.eager_limit = 64;
  change(condition.network, condition.executor);
  return condition;
}

Condition up_to(Rank most, Condition condition) {
  condition.most = most;
  return condition;
}

constexpr auto referenced = InprocOptions::Sends::Referenced;

std::vector<Condition> conditions() {
  return {
      with("Threads", true, [](InprocOptions&, runtime::ExecutorOptions&) {}),
      with("ThreadsSynchronous", true, [](InprocOptions&, runtime::ExecutorOptions& e) { e.eager_bytes = 0; }),
      with("ThreadsMixed", true,
           [](InprocOptions& n, runtime::ExecutorOptions& e) {
             n.sends = referenced;
             e.credit_bytes = 2048;
             e.slots = 1;
           }),
      with("ProgressThreads", true, [](InprocOptions&, runtime::ExecutorOptions& e) { e.progress_thread = true; }),
      with("Synchronous", false, [](InprocOptions&, runtime::ExecutorOptions& e) { e.eager_bytes = 0; }),
      with("OneSlot", false,
           [](InprocOptions& n, runtime::ExecutorOptions& e) {
             n.seed = 11;
             e.eager_bytes = 0;
             e.slots = 1;
           }),
      with("SmallCredit", false,
           [](InprocOptions& n, runtime::ExecutorOptions& e) {
             n.sends = referenced;
             e.credit_bytes = 1024;
           }),
      with("TinyWindow", false,
           [](InprocOptions& n, runtime::ExecutorOptions& e) {
             n.sends = referenced;
             e.window_bytes = 1;
             e.eager_bytes = 256;
           }),
      with("DelayedCompute", false,
           [](InprocOptions& n, runtime::ExecutorOptions& e) {
             n.seed = 3;
             e.compute = delayed_compute;
           }),
      with("OnePartInFlight", false, [](InprocOptions&, runtime::ExecutorOptions& e) { e.parts_in_flight = 1; }),
      up_to(9, with("DrawnOrder", false,
                    [](InprocOptions& n, runtime::ExecutorOptions& e) {
                      n.seed = 7;
                      n.sends = referenced;
                      e.credit_bytes = 2048;
                      e.slots = 2;
                      e.window_bytes = 512;
                    })),
  };
}

std::vector<Condition> conditions_on_devices() {
  return {
      with(
          "All", false, [](InprocOptions& n, runtime::ExecutorOptions&) { n.seed = 13; }, OnDevice::All),
      with(
          "Odd", false,
          [](InprocOptions& n, runtime::ExecutorOptions& e) {
            n.seed = 17;
            n.sends = referenced;
            e.credit_bytes = 2048;
            e.slots = 1;
            e.eager_bytes = 0;
          },
          OnDevice::Odd),
      up_to(3, with(  // mock devices take turns, which takes long with threads
                   "Threads", true, [](InprocOptions&, runtime::ExecutorOptions&) {}, OnDevice::All)),
  };
}

/// Checks the cases of `covering_cases` for each number of ranks. Threads wait for each other in each call, on a busy
/// machine for long, and whatever they do with the values is the same without threads. So they get each value only.
void check_covering(const Condition& condition) {
  const Cover cover = condition.threads ? Cover::Values : default_cover;
  for (Rank size = 1; size <= condition.most; ++size) {
    Bench bench(size, condition);
    ASSERT_NO_FATAL_FAILURE(bench.check_all(covering_cases(size, cover))) << size << " ranks";
    for (const std::vector<Rank>& hosts : host_layouts(size)) {
      Bench spread(size, condition, hosts);
      ASSERT_NO_FATAL_FAILURE(spread.check_all(covering_cases(size, cover, hosts))) << size << " ranks";
    }
  }
}

std::string name_of(const testing::TestParamInfo<Condition>& info) { return info.param.name; }

class Pairwise : public testing::TestWithParam<Condition> {};
class PairwiseOnDevices : public Pairwise {};

TEST_P(Pairwise, EveryAlgorithmGivesTheOraclesBits) { check_covering(GetParam()); }
TEST_P(PairwiseOnDevices, EveryAlgorithmGivesTheOraclesBits) { check_covering(GetParam()); }

INSTANTIATE_TEST_SUITE_P(, Pairwise, testing::ValuesIn(conditions()), name_of);
INSTANTIATE_TEST_SUITE_P(, PairwiseOnDevices, testing::ValuesIn(conditions_on_devices()), name_of);

TEST(CoveringRows, HoldEveryPairOfValues) {
  const std::vector<std::size_t> sizes = {3, 5, 2, 4};
  const auto rows = covering_rows(sizes, Cover::Pairs);
  EXPECT_LT(rows.size(), 3u * 5 * 2);
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      for (std::size_t i = 0; i < sizes[a] * sizes[b]; ++i) {
        EXPECT_TRUE(std::any_of(rows.begin(), rows.end(),
                                [&](const auto& row) { return row[a] == i / sizes[b] && row[b] == i % sizes[b]; }));
      }
    }
  }
}

TEST(CoveringRows, HoldEachValueInAsManyRowsAsAFactorHasValues) {
  const std::vector<std::size_t> sizes = {3, 5, 2, 4};
  const auto rows = covering_rows(sizes, Cover::Values);
  EXPECT_EQ(rows.size(), 5u);
  for (std::size_t factor = 0; factor < sizes.size(); ++factor) {
    for (std::size_t value = 0; value < sizes[factor]; ++value) {
      EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row[factor] == value; }));
    }
  }
}

TEST(CoveringRows, HoldEachValueOfALoneFactor) {
  for (const Cover cover : {Cover::Values, Cover::Pairs}) {
    EXPECT_EQ(covering_rows({3}, cover), (std::vector<FactorValues>{{0}, {1}, {2}}));
    EXPECT_EQ(covering_rows({}, cover), std::vector<FactorValues>{{}}) << "no factors have one row";
  }
}

}  // namespace
}  // namespace lacuna::test
