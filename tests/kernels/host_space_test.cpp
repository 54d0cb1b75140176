#include "kernels/host_space.hpp"

#include "tests/kernels/space_properties.hpp"

namespace lacuna::kernels {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Host, SpaceProperties, HostSpace);

TEST(HostSpace, ScratchIsAlignedForAnyType) {
  const auto check = [](const HostTeam& team) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(team.scratch<std::byte>()) % alignof(std::max_align_t), 0u);
  };
  HostSpace::for_teams(3, 8, check);
}

}  // namespace
}  // namespace lacuna::kernels
