#include "algorithms/blocks/steps.hpp"
#include "runtime/graph/plan.hpp"
#include "tests/algorithms/blocks/blocks_rig.hpp"

// What blocks send, by their definition. Bytes are those that the transport counts.
namespace lacuna::test {
namespace {

/// Which blocks of each rank are not zero, and how many elements each block has.
struct BlockTable {
  std::vector<std::vector<bool>> of_rank;
  std::vector<bool> of_any;
  std::vector<std::size_t> elements;

  BlockTable(const BlocksCall& call, const std::vector<Elements>& inputs) {
    for (std::size_t begin = 0; begin < call.count; begin += call.block) {
      elements.push_back(std::min(call.block, call.count - begin));
    }
    of_any.resize(elements.size());
    for (const Elements& input : inputs) {
      auto& mine = of_rank.emplace_back(elements.size());
      for (std::size_t i = 0; i < call.count; ++i) {
        if (input[i] != 0) mine[i / call.block] = of_any[i / call.block] = true;
      }
    }
  }
  std::size_t count() const { return elements.size(); }
  double density() const {
    return static_cast<double>(std::count(of_any.begin(), of_any.end(), true)) / static_cast<double>(count());
  }
};

/// What the protocol of the streamed form sends, block by block. Columns move on their own.
struct Streamed {
  std::vector<std::uint64_t> up, payload;  ///< by rank: blocks that it sends to owners, and bytes of all messages
  std::uint64_t down = 0;                  ///< blocks of the result
  int rounds = 0;

  Streamed(const BlocksCall& call, const BlockTable& blocks, std::size_t slots, std::size_t columns, std::size_t owners,
           bool burst)
      : up(call.ranks()), payload(call.ranks()) {
    const std::size_t used = std::max<std::size_t>(std::min(slots, (blocks.count() + columns - 1) / columns), 1);
    const std::size_t lanes = used * columns, element = size_of(call.dtype);
    for (std::size_t slot = 0; slot < used; ++slot) {
      const std::size_t owner = slot % owners;
      int longest = 0;
      std::vector<bool> has_any(call.ranks());
      bool any = false;
      for (std::size_t lane = slot * columns; lane < (slot + 1) * columns; ++lane) {
        int asked = 0;
        for (std::size_t block = 0; block < blocks.count(); ++block) {
          if (kernels::BlockGrid{.stride = lanes, .turns = true}.first_of(block) != lane) continue;
          const bool first = burst && block < lanes;
          for (std::size_t rank = 0; rank < call.ranks(); ++rank) {
            has_any[rank] = has_any[rank] || blocks.of_rank[rank][block];
            if (rank == owner || !(first || blocks.of_rank[rank][block])) continue;
            ++up[rank];
            payload[rank] += 4 + blocks.elements[block] * element;
          }
          if (!first && !blocks.of_any[block]) continue;
          any = true;
          ++asked;
          ++down;
          payload[owner] += (call.ranks() - 1) * (4 + blocks.elements[block] * element);
        }
        longest = std::max(longest, asked);
      }
      if (!burst) {
        for (std::size_t rank = 0; rank < call.ranks(); ++rank) {
          if (rank != owner && has_any[rank]) payload[rank] += 4 * columns;
        }
        if (any) payload[owner] += (call.ranks() - 1) * 4 * columns;
      }
      const int parts = burst ? std::max(longest, 1) : 1 + longest;
      rounds = std::max(rounds, call.size > 1 ? 2 * parts : 0);
    }
  }
};

TEST(BlocksTraffic, OfTheStreamedFormIsThatOfItsProtocolIn1000Cases) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 1000; ++i) {
    const bool burst = random() % 2 == 0;
    const std::size_t slots = 1 + random() % 6, columns = 1 + random() % 6;
    BlocksCall call{.size = static_cast<Rank>(1 + random() % 8),
                    .count = random() % 400,
                    .block = 1 + random() % 5,
                    .dtype = random() % 2 == 0 ? Dtype::F32 : Dtype::U8,
                    .algorithm = "streamed_blocks"};
    const std::size_t owners = 1 + random() % call.ranks();
    call.more = fmt::format(",slots={},columns={},burst={},aggregators={}", slots, columns, burst, owners);
    BlocksRig rig(call);
    const auto inputs = block_inputs(call, block_patterns[random() % std::size(block_patterns)], unsigned(i));
    rig.expect(inputs, "closed forms");
    if (HasFatalFailure()) return;
    const Streamed expected(call, BlockTable(call, inputs), slots, columns, owners, burst);
    for (std::size_t rank = 0; rank < call.ranks(); ++rank) {
      const Report& report = rig.reports[rank];
      ASSERT_EQ(report.measures.value("blocks_up"), static_cast<double>(expected.up[rank])) << call.name();
      ASSERT_EQ(report.measures.value("blocks_result"), static_cast<double>(expected.down)) << call.name();
      ASSERT_EQ(report.rounds, expected.rounds) << call.name();
      ASSERT_EQ(rig.sent[rank].payload_sent, expected.payload[rank]) << call.name() << " rank " << rank;
    }
  }
}

/// The bytes of the message of a set.
std::uint64_t set_bytes(std::size_t members, std::size_t blocks) {
  return members == 0 ? 0 : 4 + std::min((blocks + 7) / 8, 4 * members);
}

/// What each rank sends in the planned form, if the data are one part. Owners take blocks in turn, and
/// another one begins with each turn.
std::vector<std::uint64_t> planned(const BlocksCall& call, const BlockTable& blocks, std::size_t owners) {
  std::vector<std::uint64_t> payload(call.ranks());
  for (std::size_t owner = 0; owner < owners; ++owner) {
    std::size_t all = 0, members = 0, bytes = 0;
    std::vector<std::size_t> own(call.ranks()), own_bytes(call.ranks());
    for (std::size_t block = 0; block < blocks.count(); ++block) {
      if (kernels::BlockGrid{.stride = owners, .turns = true}.first_of(block) != owner) continue;
      ++all;
      const std::size_t size = blocks.elements[block] * size_of(call.dtype);
      for (std::size_t rank = 0; rank < call.ranks(); ++rank) {
        own[rank] += blocks.of_rank[rank][block];
        own_bytes[rank] += blocks.of_rank[rank][block] ? size : 0;
      }
      members += blocks.of_any[block];
      bytes += blocks.of_any[block] ? size : 0;
    }
    for (std::size_t rank = 0; rank < call.ranks(); ++rank) {
      if (rank != owner) payload[rank] += set_bytes(own[rank], all) + own_bytes[rank];
    }
    payload[owner] += (call.ranks() - 1) * (set_bytes(members, all) + bytes);
  }
  return payload;
}

TEST(BlocksTraffic, OfThePlannedFormIsTheBlocksAndTheirSets) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 1000; ++i) {
    BlocksCall call{.size = static_cast<Rank>(1 + random() % 8),
                    .count = random() % 900,
                    .block = 1 + random() % 5,
                    .dtype = random() % 2 == 0 ? Dtype::F64 : Dtype::U8};
    const std::size_t owners = 1 + random() % call.ranks();
    call.more = fmt::format(",aggregators={}", owners);
    BlocksRig rig(call, in_one_part());
    const auto inputs = block_inputs(call, block_patterns[random() % std::size(block_patterns)], unsigned(i));
    rig.expect(inputs, "traffic");
    if (HasFatalFailure()) return;
    const std::vector<std::uint64_t> expected = planned(call, BlockTable(call, inputs), owners);
    for (std::size_t rank = 0; rank < call.ranks(); ++rank) {
      ASSERT_EQ(rig.sent[rank].payload_sent, expected[rank]) << call.name() << " rank " << rank;
      ASSERT_EQ(rig.reports[rank].sent, expected[rank]) << call.name() << " rank " << rank;
    }
  }
}

TEST(BlocksTraffic, OfZerosIsNoByteOfPayload) {
  for (const char* algorithm : {"planned_blocks", "streamed_blocks"}) {
    for (std::size_t count : {1000u, 4000u}) {
      BlocksRig rig({.size = 5, .count = count, .algorithm = algorithm, .more = ",slots=7"}, in_one_part());
      rig.expect(block_inputs(rig.call, BlockPattern::None, 1), "zeros");
      for (const Counters& sent : rig.sent) {
        EXPECT_EQ(sent.payload_sent, 0u) << algorithm;
        // A message to each owner, and one from each owner.
        EXPECT_LE(sent.messages_sent, algorithm[0] == 'p' ? 8u : 2u * 7u) << algorithm;
      }
    }
  }
}

TEST(BlocksTraffic, ZerosBehindTheDataAddOnlyToTheSets) {
  const auto payload = [](std::size_t count, const char* algorithm) {
    BlocksRig rig({.size = 4, .count = 400, .block = 16, .algorithm = algorithm, .more = ",slots=4"}, in_one_part());
    std::vector<Elements> inputs = block_inputs(rig.call, BlockPattern::Drawn, 3);
    rig.call.count = count;
    for (Elements& input : inputs) input.resize(count);
    rig.expect(inputs, "zeros behind");
    std::uint64_t all = 0;
    for (const Counters& sent : rig.sent) all += sent.payload_sent;
    return all;
  };
  // A set of 25 blocks has 4 bytes of map in all shards, one of 50 has 7.
  EXPECT_LE(payload(800, "planned_blocks"), payload(400, "planned_blocks") + 4 * 2 * 3 * 2);
  EXPECT_GT(payload(400, "streamed_blocks"), 0u);
}

/// The largest number over the mean.
double skew(const std::vector<double>& loads) {
  double most = 0, all = 0;
  for (double load : loads) {
    most = std::max(most, load);
    all += load;
  }
  return most * static_cast<double>(loads.size()) / all;
}

TEST(BlocksTraffic, IsEvenOverTheOwnersWhereverTheBlocksLie) {
  for (const char* algorithm : {"planned_blocks", "streamed_blocks"}) {
    for (BlockPattern pattern : {BlockPattern::First, BlockPattern::Striped, BlockPattern::Drawn, BlockPattern::All}) {
      RanksOptions options = drawn_options(0);
      options.executor.chunk_bytes = 4096;
      BlocksCall call{.size = 8, .count = 1 << 17, .block = 16, .algorithm = algorithm, .more = ",slots=64,columns=1"};
      BlocksRig rig(call, options);
      rig.expect(block_inputs(call, pattern, 2), "skew");
      std::vector<double> loads;
      for (const Counters& sent : rig.sent) loads.push_back(static_cast<double>(sent.payload_sent));
      EXPECT_LE(skew(loads), 1.2) << algorithm << " " << static_cast<int>(pattern);
    }
  }
}

TEST(BlocksTraffic, IsEvenOverTheOwnersAtWhateverDistancesTheBlocksLie) {
  for (const char* algorithm : {"planned_blocks", "streamed_blocks"}) {
    for (std::size_t distance : {2u, 3u, 4u, 5u, 12u, 16u, 20u, 32u, 64u}) {
      BlocksCall call{.size = 4, .count = 1 << 14, .block = 1, .dtype = Dtype::F64, .algorithm = algorithm};
      BlocksRig rig(call, in_one_part());
      std::vector<Elements> inputs(call.ranks(), Elements(call.count));
      for (Elements& input : inputs) {
        for (std::size_t i = 0; i < call.count; i += distance) input[i] = oracle::encode(call.dtype, 1);
      }
      rig.expect(inputs, "distances");
      std::vector<double> received;
      for (const Report& report : rig.reports) received.push_back(static_cast<double>(report.received));
      EXPECT_LE(skew(received), 1.2) << algorithm << " " << distance;
    }
  }
}

TEST(BlocksTraffic, OfDenseDataIsWithin15PerMilleOfTheRings) {
  for (const char* algorithm : {"planned_blocks", "streamed_blocks"}) {
    RanksOptions options;
    options.executor = quick_executor();
    BlocksRig rig({.size = 8, .count = 1 << 19, .block = 256, .algorithm = algorithm, .more = ",columns=16,slots=16"},
                  options);
    rig.expect(block_inputs(rig.call, BlockPattern::All, 2), "dense");
    for (const Counters& sent : rig.sent) {
      const double ring = 2.0 * 7 / 8 * 4 * (1 << 19);
      EXPECT_LT(static_cast<double>(sent.payload_sent + sent.header_sent), 1.015 * ring)
          << algorithm << ": " << sent.header_sent << " bytes of headers";
      EXPECT_GT(static_cast<double>(sent.payload_sent), 0.98 * ring) << algorithm;
    }
  }
}

TEST(BlocksTraffic, TheResultIsAsDenseAsIndependentBlocksMakeIt) {
  constexpr double density = 0.01;
  constexpr std::size_t count = 300'000;
  for (Rank size : {2, 8}) {
    BlocksRig rig({.size = size, .count = count, .block = 1, .dtype = Dtype::U8}, in_one_part());
    std::mt19937_64 random(5);
    std::vector<Elements> inputs(rig.call.ranks(), Elements(count));
    for (Elements& input : inputs) {
      for (std::uint64_t& element : input) element = random() % 100 == 0;
    }
    ASSERT_EQ(rig.run(inputs), "");
    const double expected = 1 - std::pow(1 - density, size);
    const double found = rig.reports[0].measures.value("blocks_result") / count;
    EXPECT_NEAR(found / expected, 1, 0.02) << "P=" << size;
  }
}

TEST(BlocksTraffic, InABroadcastOnlyTheRootAndTheOwnersSend) {
  BlocksRig rig(
      {.size = 4, .count = 4096, .block = 16, .collective = Collective::Broadcast, .more = ",aggregators=1", .root = 2},
      in_one_part());
  rig.expect(block_inputs(rig.call, BlockPattern::Drawn, 4), "broadcast");
  // The root is the only owner, and the others send nothing.
  for (std::size_t rank : {0u, 1u, 3u}) EXPECT_EQ(rig.sent[rank].payload_sent, 0u);
  EXPECT_GT(rig.sent[2].payload_sent, 0u);
}

TEST(BlocksPlan, PartsBeginAtBordersOfBlocksAlsoBeyond32Bits) {
  for (std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{999}, std::size_t{1} << 33, (std::size_t{1} << 33) + 5}) {
    for (std::size_t block : {1u, 7u, 256u, 16777216u}) {
      if (block == 1 && count > 1000) continue;
      Call call{.collective = Collective::Allreduce, .count = count, .dtype = Dtype::F32};
      call.options.method = *method_options(fmt::format("blocks:block={}", block));
      Plan plan;
      make_plan({call, block::allreduce, Hosts(3), 1 << 20}, plan);
      std::size_t end = 0;
      for (const PartPlan& part : plan.parts) {
        EXPECT_EQ(part.data.offset, end);
        EXPECT_EQ(part.data.offset % block, 0u);
        end += part.data.count;
      }
      EXPECT_EQ(end, count);
    }
  }
}

}  // namespace
}  // namespace lacuna::test
