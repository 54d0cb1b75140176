#include "kernels/kokkos/kokkos_space.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "kernels/kokkos/session.hpp"
#include "kernels/reduce.hpp"
#include "tests/kernels/space_properties.hpp"

namespace lacuna::kernels {
namespace {

class KokkosForAllTests : public testing::Environment {
 public:
  void SetUp() override { ASSERT_EQ(session_.emplace().problem(), nullptr); }
  void TearDown() override { session_.reset(); }

 private:
  std::optional<Session> session_;
};

const auto* const kokkos = testing::AddGlobalTestEnvironment(new KokkosForAllTests);

INSTANTIATE_TYPED_TEST_SUITE_P(Kokkos, SpaceProperties, KokkosSpace);

TEST(KokkosSpace, TheSameKernelGivesTheBitsOfTheHost) {
  constexpr std::size_t count = 1001;
  std::vector<f16> a(count), b(count), plain(count), parallel(count);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = to_f16(static_cast<float>(i) * 0.37f - 100);
    b[i] = to_f16(static_cast<float>(i % 17) * 1.25f);
  }
  const auto kernel_into = [&](std::vector<f16>& out) {
    return ReduceKernel<f16, SumOf, true>{reinterpret_cast<std::byte*>(out.data()),
                                          reinterpret_cast<const std::byte*>(a.data()),
                                          reinterpret_cast<const std::byte*>(b.data()), 5.0f, 3.0f};
  };
  HostSpace::for_each(count, kernel_into(plain));
  KokkosSpace::for_each(count, kernel_into(parallel));
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(parallel[i].bits, plain[i].bits) << i;
}

TEST(KokkosSpace, ItsNameHasVersionAndExecutionSpace) {
  const std::string name(KokkosSpace::name());
  EXPECT_TRUE(name.starts_with("kokkos ")) << name;
  EXPECT_TRUE(name.ends_with(std::string(", ") + Kokkos::DefaultHostExecutionSpace::name())) << name;
}

}  // namespace
}  // namespace lacuna::kernels
