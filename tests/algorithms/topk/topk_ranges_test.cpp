#include <numeric>
#include <set>

#include "kernels/entries.hpp"
#include "tests/algorithms/topk/changed_messages.hpp"

// How evenly balanced ranges share out the entries that ranks have selected, wherever these lie, and what that costs.
namespace lacuna::test {
namespace {

constexpr std::size_t count = 1 << 18;

/// For each rank, the places where it has entries. All entries of a rank have different places.
using Selections = std::vector<std::set<std::uint32_t>>;

/// Draws that many different places of [begin, end) for each rank.
Selections drawn_within(std::size_t begin, std::size_t end, std::size_t ranks, std::size_t entries) {
  std::mt19937_64 random(begin + ranks);
  Selections all(ranks);
  for (auto& places : all) {
    while (places.size() < entries) places.insert(static_cast<std::uint32_t>(begin + random() % (end - begin)));
  }
  return all;
}

/// Puts entries one behind the other. Those of rank r begin at place begin + r * step.
Selections blocks(std::size_t begin, std::size_t step, std::size_t ranks, std::size_t entries) {
  Selections all(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < entries; ++i) {
      all[rank].insert(static_cast<std::uint32_t>(begin + rank * step + i));
    }
  }
  return all;
}

Selections two_clusters(std::size_t ranks, std::size_t entries) {
  Selections all = drawn_within(70000, 73000, ranks, entries / 2);
  const Selections second = drawn_within(200000, 203000, ranks, entries - entries / 2);
  for (std::size_t rank = 0; rank < ranks; ++rank) all[rank].insert(second[rank].begin(), second[rank].end());
  return all;
}

/// Place x comes as often as 1 / x says.
Selections power_law(std::size_t ranks, std::size_t entries) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, std::log(static_cast<double>(count)));
  Selections all(ranks);
  for (auto& places : all) {
    while (places.size() < entries) places.insert(static_cast<std::uint32_t>(std::exp(uniform(random))) - 1);
  }
  return all;
}

/// The first rank has twice as many entries in one place as in another. The others have theirs one behind the other.
Selections unlike(std::size_t ranks, std::size_t entries) {
  Selections all = blocks(100000, 0, ranks, entries);
  for (std::size_t rank = 0; rank < ranks; rank += 2) all[rank] = drawn_within(99000, 140000, ranks, entries)[rank];
  return all;
}

struct Case {
  const char* what;
  Selections selections;
};
std::vector<Case> cases_of(std::size_t ranks, std::size_t entries) {
  return {{"within one bin", drawn_within(90200, 93500, ranks, entries)},
          {"two clusters", two_clusters(ranks, entries)},
          {"one block", blocks(123456, 0, ranks, entries)},
          {"a block of each rank", blocks(2000, entries, ranks, entries)},
          {"power law", power_law(ranks, entries)},
          {"at the end", blocks(count - entries, 0, ranks, entries)},
          {"some spread, some not", unlike(ranks, entries)},
          {"uniform", drawn_within(0, count, ranks, entries)}};
}

Vectors inputs_of(const Selections& all) {
  Vectors inputs(all.size(), std::vector<float>(count));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (std::uint32_t place : all[rank]) inputs[rank][place] = static_cast<float>(place % 7 + 1);
  }
  return inputs;
}

/// Returns how long the range of each rank is, as the messages to rank 0 say.
std::vector<std::size_t> lengths_of(const Selections& all, const std::string& algorithm, const std::string& method) {
  std::vector<std::size_t> lengths(all.size());
  const Status end = run_changed(inputs_of(all), algorithm, method, 1, [&](Peer, Bytes& bytes) {
    kernels::EntriesHeader header;
    if (bytes.size() < sizeof(header)) return;
    std::memcpy(&header, bytes.data(), sizeof(header));
    const bool is_message = header.reserved == 0 && header.dtype == Dtype::F32 &&
                            header.format == kernels::Format::Coordinates && header.segment < all.size() &&
                            bytes.size() == sizeof(header) + 8 * std::size_t{header.entries};
    if (is_message) lengths[header.segment] = header.length;
  });
  EXPECT_TRUE(end) << end.to_string();
  return lengths;
}

/// Returns the largest number of entries in the range of one rank, divided by the mean.
double imbalance(const Selections& all, const std::string& algorithm, const std::string& method) {
  const std::vector<std::size_t> lengths = lengths_of(all, algorithm, method);
  EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}), count);
  std::size_t begin = 0, most = 0, total = 0;
  for (std::size_t length : lengths) {
    std::size_t load = 0;
    for (const auto& places : all) {
      const auto first = places.lower_bound(static_cast<std::uint32_t>(begin)),
                 last = places.lower_bound(static_cast<std::uint32_t>(begin + length));
      load += static_cast<std::size_t>(std::distance(first, last));
    }
    most = std::max(most, load);
    total += load;
    begin += length;
  }
  return static_cast<double>(most * all.size()) / static_cast<double>(total);
}

TEST(SparseRanges, BalancedHoldAtMostATenthMoreThanTheMeanWhereverEntriesLie) {
  for (std::size_t ranks : {2u, 3u, 8u, 16u}) {
    for (std::size_t entries : {64 * ranks, std::size_t{2000}}) {
      for (const auto& [what, selections] : cases_of(ranks, entries)) {
        const std::string method = fmt::format("topk:k={},feedback=0,format=coordinates", entries);
        EXPECT_LE(imbalance(selections, "sparse_split", method), 1.1) << what << " P=" << ranks << " k=" << entries;
      }
    }
  }
}

TEST(SparseRanges, OfOkTopkHoldAtMostATenthMoreThanTheMeanWhereverEntriesLie) {
  for (std::size_t ranks : {2u, 8u}) {
    for (const auto& [what, selections] : cases_of(ranks, 2000)) {
      const std::string method = "ok_topk:k=2000,format=coordinates";
      EXPECT_LE(imbalance(selections, "ok_topk", method), 1.1) << what << " P=" << ranks;
    }
  }
}

/// How many messages each rank sends in a call, and how many bytes.
struct Sent {
  std::uint64_t messages = 0, bytes = 0;
};
Sent sent_by_one(const Selections& all, const std::string& options) {
  SparseRig rig(static_cast<Rank>(all.size()), {.network = {.eager_limit = 1 << 20}, .executor = quick_executor()});
  EXPECT_EQ(rig.run(inputs_of(all), "sparse_split", options), "");
  Sent sent;
  for (Rank rank = 0; rank < rig.ranks.size(); ++rank) {
    sent.messages = std::max(sent.messages, rig.ranks.counters(rank).messages_sent);
    sent.bytes += rig.ranks.counters(rank).payload_sent;
  }
  return sent;
}

TEST(SparseRanges, OfAUniformSelectionCostAHistogramOnly) {
  for (std::size_t ranks : {2u, 5u, 8u}) {
    const std::size_t others = ranks - 1, entries = 256 * ranks;
    for (unsigned seed = 0; seed < 5; ++seed) {
      const Selections all = drawn_within(seed, count, ranks, entries);
      const Sent sent = sent_by_one(all, fmt::format("k={},feedback=0", entries));
      EXPECT_EQ(sent.messages, 4 * others) << "P=" << ranks;
    }
  }
}

/// All entries lie in one of 64 bins of two words each. Each rank sends its samples to all others: 20 P places, and how
/// many entries it has there.
TEST(SparseRanges, OfAClusterCostSamplesOfThePlacesBeside) {
  for (std::size_t ranks : {2u, 4u, 8u}) {
    const std::size_t others = ranks - 1, entries = 2048;
    const Selections all = blocks(123000, 0, ranks, entries);
    const Sent sent = sent_by_one(all, fmt::format("k={},feedback=0,format=coordinates", entries));
    EXPECT_EQ(sent.messages, 5 * others) << "P=" << ranks;
    const std::uint64_t histogram = 2 * others * (64 + 64) * 8, samples = ranks * others * 4 * (1 + 20 * ranks),
                        messages = 2 * ranks * others * 16, split = others * entries * 8;
    const std::uint64_t expected = histogram + samples + messages + 2 * split;
    EXPECT_EQ(sent.bytes, expected) << "P=" << ranks;
  }
}

TEST(SparseRanges, SamplesThatCanNotBeAreAnError) {
  const std::size_t ranks = 3, entries = 2048;
  for (const std::size_t word : {0u, 1u, 30u, 60u}) {
    std::size_t changed = 0;
    const Status end = run_changed(inputs_of(blocks(123000, 0, ranks, entries)), "sparse_split",
                                   fmt::format("topk:k={},feedback=0", entries), 1, [&](Peer from, Bytes& bytes) {
                                     if (from != 2 || changed > 0 || bytes.size() != 4 * (1 + 20 * ranks)) return;
                                     bytes[4 * word + 3] ^= std::byte{0x40};
                                     ++changed;
                                   });
    EXPECT_EQ(changed, 1u);
    EXPECT_TRUE(says(end, "rank 2")) << word << ": " << end.to_string();
  }
}

}  // namespace
}  // namespace lacuna::test
