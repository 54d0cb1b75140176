#include "tests/algorithms/topk/sparse_rig.hpp"

namespace lacuna::test {
namespace {

constexpr Rank size = 3;
constexpr std::size_t count = 2000, entries = 100;

/// Returns inputs with that many elements that are not zero, at places of each rank's own.
Vectors inputs_of_entries() {
  Vectors all(size, std::vector<float>(count));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (std::size_t i = 0; i < entries; ++i) all[rank][i * (19 - rank) + rank] = static_cast<float>(1 + i % 9);
  }
  return all;
}

bool told(const std::string& algorithm, const std::string& options) {
  Call call{.collective = Collective::Allreduce, .count = count};
  MethodState state;
  call.options.algorithm = algorithm;
  call.options.method = *method_options("topk:" + options);
  call.options.state = &state;
  return call.options.method.method()->lossless(call, size, entries);
}

bool is_exact(const std::string& algorithm, const std::string& options) {
  const Vectors inputs = inputs_of_entries();
  SparseRig rig(size);
  EXPECT_EQ(rig.run(inputs, algorithm, options), "");
  return rig.outputs == Vectors(size, sum_of(inputs));
}

TEST(TopkLossless, IsToldOfCallsThatSendAllEntries) {
  for (const char* options : {"density=1", "k=100", "density=0.05,feedback=0", "selection=threshold,feedback=0",
                              "k=100,momentum=0.9", "k=10,warm_up=5,warm_up_density=0.05"}) {
    for (const char* algorithm : sparse_allreduces) {
      EXPECT_TRUE(told(algorithm, options)) << options;
      EXPECT_TRUE(is_exact(algorithm, options)) << algorithm << " " << options;
    }
  }
}

TEST(TopkLossless, IsNotToldOfCallsThatLoseSome) {
  for (const char* options : {"k=99", "density=0.04,feedback=0", "selection=threshold,threshold=3", "k=100,clip=1",
                              "k=100,warm_up=5,warm_up_density=0.05,capped=1"}) {
    EXPECT_FALSE(told("sparse_ring", options)) << options;
    EXPECT_FALSE(is_exact("sparse_ring", options)) << options;
  }
}

}  // namespace
}  // namespace lacuna::test
