// The space that plays a device for tests.
#include "tests/support/mock_space.hpp"

#include "tests/kernels/space_properties.hpp"

namespace lacuna::kernels {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Mock, SpaceProperties, MockSpace);

/// Copies a number from each thread of the team to the next one.
struct PassOn {
  bool has_barrier;
  std::size_t each;
  int* to;

  void operator()(const MockTeam& team) const {
    int* const given = team.scratch<int>();
    team.each(each, [&](std::size_t i) { given[i] = 1; });
    if (has_barrier) team.barrier();
    team.each(each, [&](std::size_t i) { to[i] = given[(i + 1) % each]; });
    team.barrier();
  }
};

std::size_t arrived(bool has_barrier) {
  std::vector<int> to(100);
  MockSpace::for_teams(1, to.size() * sizeof(int), PassOn{has_barrier, to.size(), to.data()});
  return static_cast<std::size_t>(std::count(to.begin(), to.end(), 1));
}

TEST(MockSpace, AMissingBarrierIsSeen) {
  if (test::TeamOfFibers::threads() == 1) GTEST_SKIP() << "a sanitizer knows no fibers";
  EXPECT_EQ(arrived(true), 100u);
  EXPECT_LT(arrived(false), 100u);
}

struct PartAtABarrier {
  void operator()(const MockTeam& team) const {
    bool is_first = false;
    team.once([&] { is_first = true; });
    if (is_first) team.barrier();
  }
};

TEST(MockSpaceDeathTest, ThreadsThatPartAtABarrierEndTheProcess) {
  if (test::TeamOfFibers::threads() == 1) GTEST_SKIP() << "a sanitizer knows no fibers";
  EXPECT_DEATH(MockSpace::for_teams(1, 0, PartAtABarrier{}), "of a team have ended, and the others wait at a barrier");
}

}  // namespace
}  // namespace lacuna::kernels
