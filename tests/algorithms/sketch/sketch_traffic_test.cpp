#include <algorithm>

#include "algorithms/phases/predictions.hpp"
#include "algorithms/sketch/sketch.hpp"
#include "tests/algorithms/sketch/sketch_rig.hpp"
#include "tests/support/oracle.hpp"

// What the algorithms of sketch send, compared with closed forms and with what is expected of them.
namespace lacuna::test {
namespace {

std::uint64_t total(const SketchRig& rig, std::uint64_t Report::*bytes) {
  std::uint64_t sum = 0;
  for (const Report& report : rig.reports) sum += report.*bytes;
  return sum;
}

/// The bytes of an array of so many elements that a rank sends in a ring.
std::uint64_t in_a_ring(std::size_t rank, std::size_t ranks, std::size_t elements, std::size_t bytes) {
  const auto piece = [&](std::size_t i) {
    return exact_boundary(i % ranks + 1, elements, ranks) - exact_boundary(i % ranks, elements, ranks);
  };
  return ranks == 1 ? 0 : bytes * (2 * elements - piece(rank) - piece(rank + 1));
}
/// The bytes of a map that a rank sends: each piece to its owner, and its own piece to all.
std::uint64_t of_a_map(std::size_t rank, std::size_t ranks, std::size_t blocks) {
  const std::size_t bytes = (blocks + 7) / 8;
  const std::size_t own = exact_boundary(rank + 1, bytes, ranks) - exact_boundary(rank, bytes, ranks);
  return bytes - own + (ranks - 1) * own;
}

TEST(SketchTraffic, IsThatOfTheClosedFormsToTheByte) {
  for (Rank size = 1; size <= 9; ++size) {
    for (std::size_t block : {1u, 7u}) {
      const auto ranks = static_cast<std::size_t>(size), count = std::size_t{3001};
      const auto inputs = drawn_inputs<float>(ranks, count, 0.05, 1);
      const std::size_t elements = union_of(inputs, block), map = (count + block - 1) / block;
      const std::string options = fmt::format("block={},feedback=0", block);
      const auto expect_sent = [&](const SketchRig& rig, std::size_t cells, std::size_t cell_bytes, std::size_t reduced,
                                   const char* what) {
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          EXPECT_EQ(rig.reports[rank].sent, of_a_map(rank, ranks, map) + in_a_ring(rank, ranks, cells, cell_bytes) +
                                                in_a_ring(rank, ranks, reduced, 4))
              << what << " rank " << rank << " of " << size << " block " << block;
        }
      };
      SketchRig compaction(size);
      compaction.run(inputs, {"compaction", options});
      expect_sent(compaction, 0, 0, elements, "compaction");
      SketchRig known(size), learned(size), exact(size), peel(size);
      const std::size_t buckets = elements / 4 / block;
      const std::string columns = fmt::format(",columns={}", buckets * block);
      known.run(inputs, {"count_sketch", options + columns});
      expect_sent(known, buckets * block, 4, 0, "the first sketch");
      known.run(inputs, {"count_sketch", options + columns});
      expect_sent(known, buckets * block, 4, 0, "the second sketch");
      learned.run(inputs, {"count_sketch", options});
      expect_sent(learned, 0, 0, elements, "the first run");
      learned.run(inputs, {"count_sketch", options});
      expect_sent(learned, buckets * block, 4, 0, "auto");
      exact.run(inputs, {"count_sketch", options + ",columns=5000"});
      expect_sent(exact, 0, 0, elements, "a sketch that is too large");
      peel.run(inputs, {"peel", options + ",cells_per_key=4"});
      peel.run(inputs, {"peel", options + ",cells_per_key=4"});
      const auto left = static_cast<std::size_t>(peel.measure("unpeeled"));
      const auto cells = static_cast<std::size_t>(peel.measure("cells"));
      EXPECT_GE(cells, 4 * (elements - block));
      expect_sent(peel, cells, 8, left, "peel");
    }
  }
}

TEST(SketchTraffic, TheCompressionThatIsToldIsThatOfTheBytesThatWereSent) {
  for (const auto& [algorithm, options] : {std::pair{"compaction", "block=3"},
                                           {"count_sketch", "ratio=0.5"},
                                           {"count_sketch", "columns=30,rows=3"},
                                           {"count_sketch", "columns=5000"},
                                           {"peel", "cells_per_key=2"},
                                           {"peel", "cells_per_key=1.1"}}) {
    SketchRig rig(5);
    const auto inputs = drawn_inputs<double>(5, 5000, 0.03, 2);
    for (int run = 0; run < 3; ++run) {
      rig.run(inputs, {algorithm, options});
      const double ratio =
          static_cast<double>(total(rig, &Report::dense_sent)) / static_cast<double>(total(rig, &Report::sent));
      EXPECT_NEAR(rig.measure("compression") / ratio, 1, 1e-12) << algorithm << " " << options << " run " << run;
    }
  }
}

/// Returns what is expected of a usual run of an allreduce.
double expected_bytes(const std::string& algorithm, const std::string& options, Rank size, std::size_t count,
                      double entries) {
  Call call{.collective = Collective::Allreduce, .count = count};
  call.options.algorithm = algorithm;
  call.options.method = *method_options("sketch:" + options);
  MethodState state;
  call.options.state = &state;
  const MethodAlgorithm& one = *sketch_method.find(call.collective, algorithm);
  Plan plan;
  make_plan({call, *one.algorithm, Hosts(size), 1 << 18}, plan);
  return one.predictions->bytes({.call = call,
                                 .plan = plan.parts.front(),
                                 .size = size,
                                 .places = static_cast<double>(count),
                                 .entries = entries});
}

TEST(SketchTraffic, IsWithinFivePercentOfWhatIsExpected) {
  constexpr std::size_t count = 60'000;
  for (Rank size : {2, 3, 8}) {
    for (double density : {0.001, 0.01, 0.1}) {
      const auto ranks = static_cast<std::size_t>(size);
      const auto inputs = drawn_inputs<float>(ranks, count, density, 3);
      double entries = 0;
      for (const auto& one : inputs)
        entries += static_cast<double>(std::count_if(one.begin(), one.end(), [](float value) { return value != 0; }));
      for (const auto& [algorithm, options] : {std::pair{"compaction", "block=1"},
                                               {"compaction", "block=16"},
                                               {"count_sketch", "block=1"},
                                               {"count_sketch", "ratio=0.5,rows=3,block=4"},
                                               {"count_sketch", "columns=300"},
                                               {"peel", "block=1"},
                                               {"peel", "cells_per_key=1.5,block=8"}}) {
        SketchRig rig(size);
        rig.run(inputs, {algorithm, options});
        rig.run(inputs, {algorithm, options});
        if (rig.measure("unpeeled") > 0) continue;  // few keys may be stuck, which nobody expects
        const double sent = static_cast<double>(total(rig, &Report::sent)) / size;
        EXPECT_NEAR(expected_bytes(algorithm, options, size, count, entries / size) / sent, 1, 0.05)
            << algorithm << " " << options << " P=" << size << " density " << density;
      }
    }
  }
}

TEST(SketchTraffic, ASketchAndItsMapDoNotWaitForEachOther) {
  SketchRig rig(6);
  const auto inputs = drawn_inputs<float>(6, 5000, 0.1, 4);
  rig.run(inputs, {"count_sketch", "ratio=0.25"});
  EXPECT_EQ(rig.reports[0].rounds, 2 + 10);
  rig.run(inputs, {"count_sketch", "ratio=0.25"});
  EXPECT_EQ(rig.reports[0].rounds, 10);
  rig.run(inputs, {"peel"});
  EXPECT_EQ(rig.reports[0].rounds, 10);
}

}  // namespace
}  // namespace lacuna::test
