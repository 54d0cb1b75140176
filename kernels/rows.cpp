#include "kernels/reduce.hpp"
#include "kernels/short_blocks.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

/// Backend::sum_rows for one packed row.
template <class T>
struct SumRows {
  using Wide = WideOf<T>;

  const std::byte* rows;
  std::size_t length;
  const std::uint32_t *begins, *order;
  std::byte* packed;

  /// The row of short ones, all at once.
  KOKKOS_INLINE_FUNCTION void operator()(std::size_t k) const {
    for (std::size_t i = 0; i < length; ++i) sum(k, i);
  }
  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    team.each(length, [this, &team](std::size_t i) { sum(team.number(), i); });
  }

  KOKKOS_INLINE_FUNCTION void sum(std::size_t k, std::size_t i) const {
    const std::uint32_t first = begins[k], end = begins[k + 1];
    T value = load<T>(rows, order[first] * length + i);
    if (end - first > 1) {
      Wide all = widen(value);
      for (std::uint32_t j = first + 1; j < end; ++j)
        all = SumOf::apply(all, widen(load<T>(rows, order[j] * length + i)));
      value = narrow<T>(all);
    }
    store(packed, k * length + i, value);
  }
};

}  // namespace

void SpaceBackend::sum_rows(Dtype dtype, const std::byte* rows, std::size_t length, std::size_t count,
                            const std::uint32_t* begins, const std::uint32_t* order, std::byte* packed) const {
  with_element(dtype, [&]<class T>(Element<T>) {
    const SumRows<T> kernel{rows, length, begins, order, packed};
    if (length < long_block) {
      Space::for_each(count, kernel);
    } else {
      Space::for_teams(count, 0, kernel);
    }
  });
}

}  // namespace lacuna::kernels
