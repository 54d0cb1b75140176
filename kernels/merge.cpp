#include "kernels/reduce.hpp"
#include "kernels/space_backend.hpp"
#include "kernels/views.hpp"

namespace lacuna::kernels {
namespace {

/// A window: the blocks that are summed up before their entries are appended. `ends` has one number more than blocks.
struct Window {
  std::uint64_t* ends;  ///< how many entries each block has; later, how many the blocks before it have
  std::uint64_t* ones;  ///< bits of the places that have entries, block_words for each block
  std::byte* sums;      ///< the sums, of the dtype

  static constexpr std::size_t bytes_of(std::size_t element) {
    return sizeof(std::uint64_t) + block_bytes + block_places * element;
  }
};

/// The window that fits into the memory of `room`. It begins there at the first address that suits a u64.
struct WindowIn {
  Window window;
  std::size_t blocks;

  explicit WindowIn(Target room) {
    constexpr std::size_t unit = sizeof(std::uint64_t);
    const std::size_t unaligned = (unit - reinterpret_cast<std::uintptr_t>(room.data) % unit) % unit;
    const std::size_t element = size_of(room.dtype);
    blocks = (room.count * element - unaligned - unit) / Window::bytes_of(element);
    window.ends = reinterpret_cast<std::uint64_t*>(room.data + unaligned);
    window.ones = window.ends + blocks + 1;
    window.sums = reinterpret_cast<std::byte*>(window.ones + blocks * block_words);
  }
};

/// Sums up a block of a window. A place has its bit while its sum is not zero, and only then is its sum in memory
/// valid, so that places without entries are not touched. If entries are many, it is cheaper to begin all sums with
/// zero.
template <class T, class Views>
struct MergeBlock {
  using Wide = WideOf<T>;
  static constexpr bool in_place = std::is_same_v<T, Wide>;
  static constexpr std::size_t count_bytes = block_words * sizeof(std::uint32_t);
  static constexpr std::size_t scratch_bytes = count_bytes + (in_place ? 0 : block_places * sizeof(Wide));
  static constexpr std::size_t many = block_places / 4;

  Views table;
  Rounding<T> round;
  Window window;
  std::size_t first;
  std::size_t length;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t block = first + team.number(), added = table.entries_of(block);
    std::uint64_t* const entries = window.ends + team.number();
    team.once([&] { *entries = 0; });
    if (added == 0) return;
    std::byte* const to = window.sums + team.number() * block_places * sizeof(T);
    std::byte* const sums = in_place ? to : team.scratch<std::byte>() + count_bytes;
    std::uint64_t* const ones = window.ones + team.number() * block_words;
    if (added > many) {
      add_to_all(team, block, ones, sums);
    } else {
      add_where_ones_are(team, block, ones, sums);
    }
    team.each(block_words, [&](std::size_t w) {
      if (added > many || !in_place || round.scales) ones[w] = rounded(ones[w], w, sums, to);
      if (ones[w] != 0) Space::Team::add(entries, std::uint64_t{count_ones(ones[w])});
    });
  }

  KOKKOS_INLINE_FUNCTION BlockOfView places_of(std::size_t block) const {
    return {block, lesser(block_places, length - block * block_places), 0, 0};
  }

  KOKKOS_INLINE_FUNCTION void add_to_all(const Space::Team& team, std::size_t block, std::uint64_t* ones,
                                         std::byte* sums) const {
    team.each(block_words, [&](std::size_t w) { ones[w] = ~std::uint64_t{0}; });
    team.each(block_places, [&](std::size_t i) { store(sums, i, Wide{0}); });
    team.barrier();
    add_views<T>(team, table, places_of(block), team.scratch<std::uint32_t>(),
                 [&](std::size_t i, Wide value) { store(sums, i, load<Wide>(sums, i) + value); });
  }

  KOKKOS_INLINE_FUNCTION void add_where_ones_are(const Space::Team& team, std::size_t block, std::uint64_t* ones,
                                                 std::byte* sums) const {
    team.each(block_words, [&](std::size_t w) { ones[w] = 0; });
    team.barrier();
    add_views<T>(team, table, places_of(block), team.scratch<std::uint32_t>(), [&](std::size_t i, Wide value) {
      const std::uint64_t one = std::uint64_t{1} << i % word_bits;
      const bool begun = (ones[i / word_bits] & one) != 0;
      const Wide sum = (begun ? load<Wide>(sums, i) : Wide{0}) + value;
      store(sums, i, sum);
      if (is_zero(sum) == begun) Space::Team::add(&ones[i / word_bits], begun ? ~one + 1 : one);
    });
  }

  /// Rounds and writes the sums of a word, and returns the bits of those that have not become zero.
  KOKKOS_INLINE_FUNCTION std::uint64_t rounded(std::uint64_t ones, std::size_t w, const std::byte* sums,
                                               std::byte* to) const {
    std::uint64_t kept = 0;
    for_each_one(ones, w, [&](std::size_t i) {
      const T value = round(load<Wide>(sums, i));
      store(to, i, value);
      kept |= std::uint64_t{is_zero(value) ? 0u : 1u} << i % word_bits;
    });
    return kept;
  }
};

struct SumEnds {
  std::uint64_t* ends;

  KOKKOS_FUNCTION void operator()(std::size_t block, std::uint64_t& sum, bool final) const {
    const std::uint64_t entries = ends[block];
    if (final) ends[block] = sum;
    sum += entries;
  }
};

/// Appends the entries of a block of a window.
template <class T>
struct AppendBlock {
  static constexpr std::size_t scratch_bytes = block_words * sizeof(std::uint32_t);

  Window window;
  std::size_t first;
  EntriesList to;
  const std::uint64_t* taken;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t number = team.number();
    if (window.ends[number] == window.ends[number + 1]) return;
    const std::uint64_t* const ones = window.ones + number * block_words;
    const std::byte* const sums = window.sums + number * block_places * sizeof(T);
    auto* const before = team.scratch<std::uint32_t>();
    count_words(
        team, [&](std::size_t w) { return ones[w]; }, before);
    team.each(block_words, [&](std::size_t w) {
      std::size_t at = *taken + window.ends[number] + before[w];
      for_each_one(ones[w], w, [&](std::size_t i) {
        if (at < to.room) {
          to.places[at] = static_cast<std::uint32_t>(to.base + (first + number) * block_places + i);
          store(to.values, at, load<T>(sums, i));
        }
        ++at;
      });
    });
  }
};

struct CountTaken {
  const std::uint64_t* appended;
  std::uint64_t* taken;

  KOKKOS_FUNCTION void operator()(std::size_t) const { *taken += *appended; }
};

}  // namespace

void SpaceBackend::merge(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale,
                         std::size_t length, Target room, EntriesList to, std::uint64_t* taken) const {
  const WindowIn in(room);
  const std::size_t all = blocks_of(length);
  with_floating_element(room.dtype, [&]<class T>(Element<T>) {
    with_views(views, before, [&]<class Views>(const Views& table) {
      using Kernel = MergeBlock<T, Views>;
      for (std::size_t first = 0; first < all; first += in.blocks) {
        const std::size_t blocks = lesser(in.blocks, all - first);
        std::uint64_t* const sum = in.window.ends + blocks;
        Space::for_teams(blocks, Kernel::scratch_bytes, Kernel{table, Rounding<T>(scale), in.window, first, length});
        Space::scan(blocks, SumEnds{in.window.ends}, sum);
        Space::for_teams(blocks, AppendBlock<T>::scratch_bytes, AppendBlock<T>{in.window, first, to, taken});
        Space::for_each(1, CountTaken{sum, taken});
      }
    });
  });
}

}  // namespace lacuna::kernels
