#include "kernels/host_space.hpp"

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <vector>

#include "kernels/reduce.hpp"

namespace lacuna::kernels {
namespace {

/// Kokkos for one test, unless somebody else has initialised it already.
class KokkosScope {
 public:
  KokkosScope() : ours_(!Kokkos::is_initialized()) {
    if (ours_) Kokkos::initialize();
  }
  KokkosScope(const KokkosScope&) = delete;
  KokkosScope& operator=(const KokkosScope&) = delete;
  ~KokkosScope() {
    if (ours_) Kokkos::finalize();
  }

 private:
  bool ours_;
};

TEST(HostSpace, CallsTheKernelOnceForEachIndex) {
  for (std::size_t count : {0u, 1u, 17u, 1000u}) {
    std::vector<int> calls(count + 1, 0);
    HostSpace::for_each(count, [data = calls.data()](std::size_t i) { ++data[i]; });
    std::vector<int> expected(count + 1, 1);
    expected.back() = 0;
    EXPECT_EQ(calls, expected);
  }
}

TEST(HostSpace, TheSameKernelGivesTheSameBitsUnderKokkos) {
  const KokkosScope kokkos;
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
  Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, count), kernel_into(parallel));
  Kokkos::fence();
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(parallel[i].bits, plain[i].bits) << i;
    ASSERT_EQ(plain[i].bits, to_f16((to_float(a[i]) + to_float(b[i])) * 5.0f / 3.0f).bits) << i;
  }
}

}  // namespace
}  // namespace lacuna::kernels
