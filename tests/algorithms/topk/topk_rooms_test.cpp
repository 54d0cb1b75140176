#include "kernels/backend.hpp"
#include "runtime/graph/graphs.hpp"
#include "tests/algorithms/topk/sparse_rig.hpp"

// How much memory a part of topk takes beside the caller's, from the buffers that its graph has.
namespace lacuna::test {
namespace {

constexpr std::size_t count = 1 << 20, places_table = count / 4096 * 4;

/// Returns the bytes of one rank's own buffers. A landed message counts as long as it may be, and `landed` of them at a
/// time.
std::size_t bytes_of(const char* algorithm, Rank size, std::size_t k, std::string options = {}) {
  Call call{.collective = Collective::Allreduce, .count = count};
  call.options.algorithm = algorithm;
  call.options.method = *method_options(fmt::format("topk:feedback=0,k={}{}", k, options));
  const Algorithm& program = **select_algorithm(call, size);
  const Hosts hosts = size;
  Plan plan;
  make_plan({call, program, hosts, 1 << 18}, plan);
  const PartPlan& part = plan.parts.front();
  const Graphs graphs = *graphs_of(program, size, {.structure = part.structure});
  const PartView view{.call = call, .plan = plan, .part = part, .size = size, .position = 1, .count = count};
  std::size_t bytes = 0;
  for (const BufferInfo& info : graphs.at(1).tables().buffers) {
    if (info.role != Role::Scratch) continue;
    bytes += info.capacity(view) * size_of(info.element.value_or(Dtype::F32));
  }
  return bytes;
}

/// Returns what all algorithms need: the selection, histograms of magnitudes, tables of each rank's places, and sums of
/// a window of places.
std::size_t common(Rank size, std::size_t k) {
  return 8 * k + kernels::Backend::workspace_bytes() + static_cast<std::size_t>(size) * (places_table + 100) +
         4 * kernels::Backend::merge_places;
}

TEST(SparseRooms, OfARingAreTwoRangesWhateverTheSelection) {
  for (Rank size : {2, 4, 8, 16}) {
    const std::size_t range = 4 * count / static_cast<std::size_t>(size);
    for (std::size_t k : {std::size_t{1000}, count / 100, count / 10, count}) {
      EXPECT_LE(bytes_of("sparse_ring", size, k), common(size, k) + 2 * range + range / 2 + 10000)
          << "P=" << size << " k=" << k;
    }
  }
}

TEST(SparseRooms, OfASplitAreTheSelectionOnceMoreAndOneRangeThreeTimes) {
  for (Rank size : {2, 4, 8, 16}) {
    const std::size_t range = 4 * count / static_cast<std::size_t>(size);
    for (std::size_t k : {std::size_t{1000}, count / 100, count / 10, count}) {
      EXPECT_LE(bytes_of("sparse_split", size, k, ",ranges=even"), common(size, k) + 8 * k + 3 * range + 10000)
          << "P=" << size << " k=" << k;
    }
  }
}

TEST(SparseRooms, OfTheOthersAreAFewTimesTheEntriesOfAllRanks) {
  for (const char* algorithm : {"sparse_allgather", "sparse_split", "sparse_doubling"}) {
    for (Rank size : {2, 4, 8, 16}) {
      const std::size_t k = 1000, ranks = static_cast<std::size_t>(size);
      EXPECT_LE(bytes_of(algorithm, size, k), common(size, k) + 8 * k + 32 * k * ranks + 20000)
          << algorithm << " P=" << size;
    }
  }
}

}  // namespace
}  // namespace lacuna::test
