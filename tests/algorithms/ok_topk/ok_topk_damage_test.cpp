#include "algorithms/ok_topk/quotas.hpp"
#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"
#include "tests/algorithms/topk/changed_messages.hpp"

// What ok_topk says about messages that are sound each by itself, and still can't be right.
namespace lacuna::test {
namespace {

constexpr std::uint32_t count = 2000;
constexpr std::uint64_t k = 100, most_selected = k + k / 3;  // selected at most between exact selections
constexpr const char* balancing = "ok_topk:k=100,feedback=0,trigger=1,format=coordinates";

Vectors inputs() { return sparse_inputs(Pattern::Full, 2, count, 1); }

/// In the second run of a state, changes how many sums the other rank says that it has.
Status run_with_offer(const std::function<void(std::uint32_t& sums)>& change) {
  std::size_t changed = 0;
  const Status end = run_changed(inputs(), "ok_topk", balancing, 2, [&](Peer, Bytes& bytes) {
    if (bytes.size() != 4 * ok::words_of_offer(k, 2)) return;
    change(*reinterpret_cast<std::uint32_t*>(bytes.data()));
    ++changed;
  });
  EXPECT_EQ(changed, 1u);
  return end;
}

TEST(OkDamage, AnOfferOfMoreSumsThanAllMaySelectInARangeIsAnErrorThatNamesItsSender) {
  for (int byte : {1, 2, 3}) {
    const Status end = run_with_offer([&](std::uint32_t& sums) { sums ^= std::uint32_t{0x55} << 8 * byte; });
    EXPECT_TRUE(says(end, "the message of rank 1: an offer of ")) << end.to_string();
    EXPECT_TRUE(says(end, " sums, must be 0 .. ")) << end.to_string();
  }
}

TEST(OkDamage, OffersOfMoreSumsThanAllRanksMaySelectTogetherAreAnError) {
  const Status end = run_with_offer([](std::uint32_t& sums) { sums = 2 * most_selected; });
  EXPECT_TRUE(says(end, fmt::format("the message of rank 1: an offer of {} sums, must be 0 .. ", 2 * most_selected)))
      << end.to_string();
}

/// In the range of rank 0 all sums cancel. So rank 0 gets half of the entries in the range of rank 1.
TEST(OkDamage, AShareThatIsNotOfTheBlocksSizeIsAnErrorThatNamesItsSender) {
  Vectors values(2, std::vector<float>(count));
  for (std::size_t i = 0; i < k; ++i) {
    values[0][count / k * i] = static_cast<float>(900 + i);
    values[1][count / k * i] = i < k / 2 ? -values[0][count / k * i] : values[0][count / k * i];
  }
  for (bool is_empty : {true, false}) {
    std::size_t shares = 0;
    const Status end = run_changed(values, "ok_topk", balancing, 2, [&](Peer, Bytes& bytes) {
      const auto share = read(bytes, Dtype::F32, 0, count);
      if (!share || shares++ > 0) return;
      Sparse shorter = *share;
      shorter.places.pop_back();
      shorter.values.pop_back();
      bytes = is_empty ? Bytes() : written(shorter, kernels::Format::Coordinates, 0);
    });
    EXPECT_GT(shares, 0u);
    EXPECT_TRUE(says(end, "the message of rank 1: ")) << end.to_string();
    EXPECT_TRUE(says(end, is_empty ? "0 bytes" : "24 entries to balance blocks, must be 25")) << end.to_string();
  }
}

TEST(OkDamage, SumsOfMoreEntriesThanAllRanksSelectAreAnError) {
  std::size_t changed = 0;
  const Status end = run_changed(inputs(), "ok_topk", balancing, 1, [&](Peer, Bytes& bytes) {
    kernels::EntriesHeader header;
    if (bytes.size() < sizeof(header)) return;
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (!read(bytes, Dtype::F32, 1, header.length)) return;
    Sparse block{Dtype::F32, header.length, {}, std::vector<std::uint64_t>(2 * k, 0x3f800000)};
    for (std::uint32_t place = 0; place < 2 * k; ++place) block.places.push_back(place);
    bytes = written(block, kernels::Format::Coordinates, 1);
    ++changed;
  });
  EXPECT_EQ(changed, 1u);
  EXPECT_TRUE(says(end, "entries, at most 200 were agreed on")) << end.to_string();
}

}  // namespace
}  // namespace lacuna::test
