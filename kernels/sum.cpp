#include <type_traits>

#include "kernels/space_backend.hpp"
#include "kernels/views.hpp"

namespace lacuna::kernels {
namespace {

/// Sums up a block. If the output has the accumulation type, the sums are in the output itself.
template <class T, class Views>
struct SumBlock {
  using Wide = WideOf<T>;
  static constexpr bool in_place = std::is_same_v<T, Wide>;
  static constexpr std::size_t count_bytes = block_words * sizeof(std::uint32_t);
  static constexpr std::size_t sums_offset = count_bytes + sizeof(std::uint64_t);  // behind the number of entries
  static constexpr std::size_t scratch_bytes = sums_offset + (in_place ? 0 : block_places * sizeof(Wide));
  /// How many elements a thread counts at once: one, so that neighbouring threads read neighbouring elements. A single
  /// thread counts many.
  static constexpr std::size_t portion = Space::team_threads == 1 ? word_bits : 1;

  Views table;
  Rounding<T> round;
  std::byte* out;
  std::size_t length;
  std::uint64_t* entries;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t block = team.number(), start = block * block_places;
    const std::size_t count = lesser(block_places, length - start);
    std::byte* const to = out + start * sizeof(T);
    if (table.entries_of(block) == 0) {
      team.each(count, [&](std::size_t i) { store(to, i, narrow<T>(Wide{0})); });
      return;
    }
    std::byte* const sums = in_place ? to : team.scratch<std::byte>() + sums_offset;
    auto* const found = reinterpret_cast<std::uint64_t*>(team.scratch<std::byte>() + count_bytes);
    team.once([&] { *found = 0; });
    team.each(count, [&](std::size_t i) { store(sums, i, Wide{0}); });
    team.barrier();
    add_views<T>(team, table, {block, count, 0, 0}, team.scratch<std::uint32_t>(),
                 [&](std::size_t i, Wide value) { store(sums, i, load<Wide>(sums, i) + value); });
    if (!in_place || round.scales) {
      team.each(count, [&](std::size_t i) { store(to, i, round(load<Wide>(sums, i))); });
      team.barrier();
    }
    team.each((count + portion - 1) / portion, [&](std::size_t i) {
      const std::uint64_t some = entries_in(to, i * portion, lesser((i + 1) * portion, count));
      if (some != 0) Space::Team::add(found, some);
    });
    team.barrier();
    team.once([&] { Space::Team::add(entries, *found); });
  }

  KOKKOS_INLINE_FUNCTION static std::uint64_t entries_in(const std::byte* to, std::size_t first, std::size_t end) {
    std::uint64_t some = 0;
    for (std::size_t i = first; i < end; ++i) some += is_zero(load<T>(to, i)) ? 0u : 1u;
    return some;
  }
};

}  // namespace

void SpaceBackend::sum(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale, Target out,
                       std::uint64_t* entries) const {
  with_floating_element(out.dtype, [&]<class T>(Element<T>) {
    with_views(views, before, [&]<class Views>(const Views& table) {
      using Kernel = SumBlock<T, Views>;
      Space::for_teams(blocks_of(out.count), Kernel::scratch_bytes,
                       Kernel{table, Rounding<T>(scale), out.data, out.count, entries});
    });
  });
}

}  // namespace lacuna::kernels
