#include <set>

#include "algorithms/topk/form.hpp"
#include "runtime/graph/graphs.hpp"
#include "tests/algorithms/topk/sparse_rig.hpp"
#include "tests/support/oracle.hpp"

// What topk sends, by formulas that know the algorithms' definitions and the lengths of messages, and count entries.
namespace lacuna::test {
namespace {

constexpr std::size_t header = 16;

/// Returns the bytes of the shortest message of so many f32 entries in that many places.
std::uint64_t message(std::size_t entries, std::size_t places) {
  const std::size_t coordinates = 8 * entries, local = 4 * ((places + 65535) / 65536) + 6 * entries,
                    bitmap = (places + 7) / 8 + 4 * entries, dense = 4 * places;
  return header + std::min({coordinates, local, bitmap, dense});
}

std::size_t entries(const std::vector<float>& values, std::size_t begin, std::size_t end) {
  return static_cast<std::size_t>(std::count_if(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                                values.begin() + static_cast<std::ptrdiff_t>(end),
                                                [](float value) { return value != 0; }));
}

struct Piece {
  std::size_t begin, end;

  std::uint64_t message_of(const std::vector<float>& values) const {
    return message(entries(values, begin, end), end - begin);
  }
};
Piece piece(std::size_t i, std::size_t of, std::size_t count) {
  return {exact_boundary(i, count, of), exact_boundary(i + 1, count, of)};
}

/// Sums the vectors of `terms` ranks, from rank `first` on and around the ring.
std::vector<float> sum_around(const Vectors& all, std::size_t first, std::size_t terms) {
  Vectors some;
  for (std::size_t i = 0; i < terms; ++i) some.push_back(all[(first + i) % all.size()]);
  return sum_of(some);
}

constexpr Rank sizes[] = {2, 3, 5, 8};
constexpr std::size_t count = 700;
constexpr const char* lossless = "density=1,feedback=0";

/// Calls check(rig, inputs, what it sent) after an allreduce of each pattern.
template <class Check>
void each_call(const char* algorithm, const std::string& options, Check check) {
  for (Rank size : sizes) {
    SparseRig rig(size);
    for (Pattern pattern : all_patterns) {
      const Vectors inputs = sparse_inputs(pattern, rig.states.size(), count, 12);
      rig.sent();
      ASSERT_EQ(rig.run(inputs, algorithm, options), "");
      check(inputs, rig.sent(), fmt::format("{} P={} pattern {}", algorithm, size, static_cast<int>(pattern)));
    }
  }
}

TEST(SparseTraffic, AllgatherSendsTheOwnEntriesToAllOthers) {
  each_call("sparse_allgather", lossless, [](const Vectors& inputs, const auto& sent, const std::string& what) {
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      ASSERT_EQ(sent[rank], (inputs.size() - 1) * message(entries(inputs[rank], 0, count), count)) << what;
    }
  });
}

TEST(SparseTraffic, SplitSendsEachRangeToItsRankAndTheSumOfTheOwnOneToAll) {
  each_call("sparse_split", "density=1,feedback=0,ranges=even",
            [](const Vectors& inputs, const auto& sent, const std::string& what) {
              const std::size_t p = inputs.size();
              for (std::size_t rank = 0; rank < p; ++rank) {
                std::uint64_t bytes = (p - 1) * piece(rank, p, count).message_of(sum_of(inputs));
                for (std::size_t other = 0; other < p; ++other) {
                  if (other != rank) bytes += piece(other, p, count).message_of(inputs[rank]);
                }
                ASSERT_EQ(sent[rank], bytes) << what << " rank " << rank;
              }
            });
}

/// Returns what a rank of a ring sends. `result` gives the bytes of a message of a finished piece.
template <class Result>
std::uint64_t ring_bytes(const Vectors& inputs, std::size_t rank, std::size_t chunks, Result result) {
  const std::size_t p = inputs.size();
  std::uint64_t bytes = 0;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t step = 1; step < p; ++step) {
      const std::size_t range = (rank + p - step) % p, last = (rank + p - (step - 1)) % p;
      bytes += piece(range * chunks + chunk, p * chunks, count).message_of(sum_around(inputs, range + 1, step));
      bytes += result(piece(last * chunks + chunk, p * chunks, count));
    }
  }
  return bytes;
}

TEST(SparseTraffic, RingSendsEachPartialSumToItsNeighbourThenEachResult) {
  for (const std::size_t chunks : {1u, 8u}) {
    each_call("sparse_ring", fmt::format("{},chunks={}", lossless, chunks),
              [&](const Vectors& inputs, const auto& sent, const std::string& what) {
                const std::vector<float> sum = sum_of(inputs);
                for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
                  const auto result = [&](const Piece& one) { return one.message_of(sum); };
                  ASSERT_EQ(sent[rank], ring_bytes(inputs, rank, chunks, result)) << what << " rank " << rank;
                }
              });
  }
}

TEST(SparseTraffic, RingIsNeverMoreThanTheDenseOneAndItsHeaders) {
  each_call("sparse_ring", lossless, [](const Vectors& inputs, const auto& sent, const std::string& what) {
    const std::size_t p = inputs.size();
    for (std::size_t rank = 0; rank < p; ++rank) {
      std::uint64_t dense = 2 * (p - 1) * 8 * header;
      for (std::size_t other = 0; other < p; ++other) {
        const Piece one = piece(other, p, count);
        dense += 4 * (one.end - one.begin) * ((other != rank) + (other != (rank + 1) % p));
      }
      ASSERT_LE(sent[rank], dense) << what;
    }
  });
}

TEST(SparseTraffic, RingOfIdenticalPlacesSendsTwiceTheKEntriesOfAnAllreduce) {
  for (std::size_t p : {2u, 4u, 8u}) {
    SparseRig rig(static_cast<Rank>(p));
    Vectors inputs(p, std::vector<float>(640));
    for (auto& input : inputs) {
      for (std::size_t i = 0; i < 640; i += 10) input[i] = 1;
    }
    rig.sent();
    ASSERT_EQ(rig.run(inputs, "sparse_ring", "k=64,chunks=1,format=coordinates"), "");
    for (std::uint64_t sent : rig.sent()) EXPECT_EQ(sent, 2 * (p - 1) * (header + 8 * 64 / p));
  }
}

TEST(SparseTraffic, RingOfEvenlySpreadDisjointPlacesSendsThreeHalvesOfAnAllgather) {
  for (std::size_t p : {2u, 4u, 8u}) {
    SparseRig rig(static_cast<Rank>(p));
    Vectors inputs(p, std::vector<float>(640));
    for (std::size_t rank = 0; rank < p; ++rank) {
      for (std::size_t i = rank; i < 640; i += 8) inputs[rank][i] = 1;
    }
    rig.sent();
    ASSERT_EQ(rig.run(inputs, "sparse_ring", "k=80,chunks=1,format=coordinates"), "");
    for (std::uint64_t sent : rig.sent()) EXPECT_EQ(2 * sent, 2 * 2 * (p - 1) * header + 3 * 8 * 80 * (p - 1));
  }
}

TEST(SparseTraffic, CappedRingSendsTheSameWhateverThePlacesHaveInCommon) {
  for (Rank size : sizes) {
    SparseRig rig(size);
    const std::size_t p = rig.states.size(), k = 12 * p;
    rig.sent();
    ASSERT_EQ(rig.run(sparse_inputs(Pattern::Full, p, count, 3), "sparse_ring",
                      fmt::format("k={},capped=1,format=coordinates", k)),
              "");
    for (std::uint64_t sent : rig.sent()) EXPECT_LE(sent, 2 * (p - 1) * (header + 8 * (k / p)));
    rig.sent();
    const Vectors same(p, std::vector<float>(count, 1));
    ASSERT_EQ(rig.run(same, "sparse_ring", "density=1,capped=1,format=coordinates"), "");
    const std::size_t share = (count + p - 1) / p;
    for (std::uint64_t sent : rig.sent()) EXPECT_LE(sent, 2 * (p - 1) * (header + 8 * share));
  }
}

TEST(SparseTraffic, DoublingSendsTheSumsOfOneTwoFourRanks) {
  for (std::size_t p : {2u, 4u, 8u}) {
    SparseRig rig(static_cast<Rank>(p));
    for (Pattern pattern : all_patterns) {
      const Vectors inputs = sparse_inputs(pattern, p, count, 5);
      rig.sent();
      ASSERT_EQ(rig.run(inputs, "sparse_doubling", lossless), "");
      const auto sent = rig.sent();
      for (std::size_t rank = 0; rank < p; ++rank) {
        std::uint64_t bytes = 0;
        for (std::size_t terms = 1; terms < p; terms *= 2) {
          bytes += message(entries(sum_around(inputs, rank / terms * terms, terms), 0, count), count);
        }
        ASSERT_EQ(sent[rank], bytes) << p << " pattern " << static_cast<int>(pattern);
      }
    }
  }
}

/// Returns the peers to which a position sends, in order.
std::vector<Rank> peers_of(const Graphs& graphs, Rank position) {
  std::vector<Rank> peers;
  for (const Step& step : graphs.at(position).steps()) {
    if (step.sends()) peers.push_back(step.peer);
  }
  return peers;
}

Graphs graphs_for(const char* name, Rank size, int chunks) {
  Call call{.collective = Collective::Allreduce};
  call.options.algorithm = name;
  call.options.method = *method_options("topk:feedback=0");
  auto graphs =
      graphs_of(**select_algorithm(call, size), size, {.structure = {.parameters = TopkForm{{.chunks = chunks}}}});
  EXPECT_TRUE(graphs) << graphs.status().to_string();
  return *std::move(graphs);
}

TEST(SparseTraffic, RingTalksToItsNeighboursOnlyInTwiceAsManyMessagesAsStepsAndChunks) {
  for (Rank size : {2, 5, 9}) {
    const Graphs graphs = graphs_for("sparse_ring", size, 8);
    for (Rank position = 0; position < size; ++position) {
      EXPECT_EQ(peers_of(graphs, position), std::vector<Rank>(static_cast<std::size_t>(2 * (size - 1) * 8), 1));
    }
  }
}

TEST(SparseTraffic, SplitSendsOneMessageToEachRankInTurnsThatMeetNowhereAndTheResultLikewise) {
  for (Rank size : {2, 5, 9}) {
    const Graphs graphs = graphs_for("sparse_split", size, 1);
    for (Rank position = 0; position < size; ++position) {
      const std::vector<Rank> peers = peers_of(graphs, position);
      ASSERT_EQ(peers.size(), static_cast<std::size_t>(2 * (size - 1)));
      for (std::size_t round = 0; round < peers.size(); ++round) {
        EXPECT_EQ(peers[round], static_cast<Rank>(round % static_cast<std::size_t>(size - 1)) + 1);
      }
    }
  }
}

/// Returns the largest share of all entries that one rank sums up, times P.
double imbalance(const Vectors& inputs, const std::string& options) {
  SparseRig rig(static_cast<Rank>(inputs.size()));
  const std::string run = rig.run(inputs, "sparse_split", options);
  EXPECT_EQ(run, "");
  double most = 0, all = 0;
  for (Rank rank = 0; rank < rig.ranks.size(); ++rank) {
    const double came = static_cast<double>(rig.ranks.counters(rank).payload_received);
    most = std::max(most, came);
    all += came;
  }
  return most / all * static_cast<double>(inputs.size());
}

TEST(SparseTraffic, BalancedRangesGiveAllRanksAsMuchToAddAlsoWhereRanksDiffer) {
  constexpr std::size_t long_count = 1 << 17;
  for (Pattern pattern : {Pattern::Clustered, Pattern::Bimodal, Pattern::Uniform}) {
    const Vectors inputs = sparse_inputs(pattern, 8, long_count, 2);
    EXPECT_LE(imbalance(inputs, "density=1,feedback=0,format=coordinates"), 1.1) << static_cast<int>(pattern);
  }
  EXPECT_GT(imbalance(sparse_inputs(Pattern::Clustered, 8, long_count, 2),
                      "density=1,feedback=0,format=coordinates,ranges=even"),
            1.5)
      << "this shows that the pattern is not balanced by itself";
}

TEST(SparseTraffic, BalancedRangesCostAboutATenthOfWhatTheEntriesDo) {
  constexpr std::size_t p = 5;
  for (std::size_t k : {1u, 100u, 319u, 640u, 1000u, 5000u, 20000u}) {
    const Vectors inputs = sparse_inputs(Pattern::Full, p, 60000, 1);
    SparseRig rig(p);
    std::uint64_t bytes[2];
    for (const char* ranges : {"balanced", "even"}) {
      rig.sent();
      ASSERT_EQ(rig.run(inputs, "sparse_split", fmt::format("k={},feedback=0,ranges={}", k, ranges)), "");
      const auto sent = rig.sent();
      bytes[ranges == std::string("even")] = std::accumulate(sent.begin(), sent.end(), std::uint64_t{0});
    }
    EXPECT_LE(bytes[0], bytes[1] + bytes[1] / 10) << "k=" << k;
    if (k < 64 * p) {
      EXPECT_EQ(bytes[0], bytes[1]) << "k=" << k << ": too few entries for a histogram";
    } else if (k > 1000) {
      EXPECT_GT(bytes[0], bytes[1]) << "k=" << k;
    }
  }
}

}  // namespace
}  // namespace lacuna::test
