#include "kernels/bits.hpp"
#include "kernels/places.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::size_t group_blocks = local_places / block_places;

struct FindPlaceBlocks {
  PlaceList places;
  std::uint32_t* before;

  KOKKOS_FUNCTION void operator()(std::size_t block) const {
    before[block] = static_cast<std::uint32_t>(places.below(block * block_places));
  }
};

/// Counts how often a number is not above the one before it.
template <class Numbers>
struct CountDescents {
  Numbers numbers;

  KOKKOS_FUNCTION void operator()(std::size_t i, std::uint64_t& descents) const {
    descents += numbers[i] < numbers[i + 1] ? 0u : 1u;
  }
};

struct JudgeList {
  PlaceList places;
  std::size_t length;
  std::uint64_t* sound;

  KOKKOS_FUNCTION void operator()(std::size_t) const {
    const bool increasing = *sound == 0;
    *sound = increasing && (places.count == 0 || places[places.count - 1] < length) ? 1 : 0;
  }
};

void index_list(const PlaceList& places, std::size_t length, std::uint32_t* before, std::uint64_t* sound) {
  const std::size_t blocks = blocks_of(length);
  Space::for_each(blocks + 1, FindPlaceBlocks{places, before});
  Space::reduce(places.count == 0 ? 0 : places.count - 1, CountDescents<PlaceList>{places}, sound);
  Space::for_each(1, JudgeList{places, length, sound});
}

/// The places of a Local16 message: their lower halves, and how many lie in each group of local_places.
struct LocalPlaces {
  const std::byte* counts;
  const std::byte* halves;
  std::size_t count;
  std::size_t groups;

  KOKKOS_INLINE_FUNCTION std::uint16_t operator[](std::size_t i) const { return load<std::uint16_t>(halves, i); }
};

/// Writes where each group begins, at its first block. This is at most the number of entries, whatever the counts say.
struct FindGroups {
  LocalPlaces places;
  std::uint32_t* before;

  KOKKOS_FUNCTION void operator()(std::size_t group, std::uint64_t& sum, bool final) const {
    if (final) before[group * group_blocks] = static_cast<std::uint32_t>(lesser(sum, places.count));
    sum += load<std::uint32_t>(places.counts, group);
  }
};

/// Writes the end of the last group: the number of entries if the counts add up to it, or else another number.
struct JudgeCounts {
  std::size_t count;
  std::uint32_t* end;
  const std::uint64_t* sum;

  KOKKOS_FUNCTION void operator()(std::size_t) const {
    *end = static_cast<std::uint32_t>(*sum == count ? count : ~count);
  }
};

struct FindLocalBlocks {
  LocalPlaces places;
  std::size_t blocks;
  std::uint32_t* before;

  KOKKOS_FUNCTION void operator()(std::size_t block) const {
    const std::size_t in_group = block % group_blocks;
    if (in_group == 0) return;
    const std::size_t group = block - in_group;
    const std::size_t last = group + group_blocks < blocks ? before[group + group_blocks] : places.count;
    before[block] = static_cast<std::uint32_t>(
        first_not(before[group], last, [&](std::size_t i) { return places[i] < in_group * block_places; }));
  }
};

/// Subtracts the descents at the beginnings of groups, where a number may be below the one before it.
struct AllowDescents {
  LocalPlaces places;
  const std::uint32_t* before;
  std::uint64_t* descents;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t group = team.number();
    const std::size_t first = before[group * group_blocks];
    const std::size_t last = group + 1 < places.groups ? before[(group + 1) * group_blocks] : places.count;
    if (first == 0 || first == last || places[first - 1] < places[first]) return;
    team.once([&] { Space::Team::add(descents, ~std::uint64_t{0}); });
  }
};

struct JudgeLocal {
  LocalPlaces places;
  std::size_t length;
  const std::uint32_t* before;
  const std::uint32_t* end;
  std::uint64_t* sound;

  KOKKOS_FUNCTION void operator()(std::size_t) const {
    bool good = *sound == 0 && *end == places.count;
    if (good && places.count != 0) {
      const std::size_t last_group = places.groups - 1;
      const bool ends_there = before[last_group * group_blocks] < places.count;
      good = !ends_there || places[places.count - 1] < length - last_group * local_places;
    }
    *sound = good ? 1 : 0;
  }
};

void index_local(const EntriesView& view, std::size_t length, std::uint32_t* before, std::uint64_t* sound) {
  const std::size_t blocks = blocks_of(length), groups = local_groups_of(length);
  const LocalPlaces places{view.places, view.places + groups * sizeof(std::uint32_t), view.entries, groups};
  Space::scan(groups, FindGroups{places, before}, sound);
  Space::for_each(1, JudgeCounts{places.count, before + blocks, sound});
  Space::for_each(blocks, FindLocalBlocks{places, blocks, before});
  Space::reduce(places.count == 0 ? 0 : places.count - 1, CountDescents<LocalPlaces>{places}, sound);
  Space::for_teams(groups, 0, AllowDescents{places, before, sound});
  Space::for_each(1, JudgeLocal{places, length, before, before + blocks, sound});
}

struct JudgeBitmap {
  const std::byte* map;
  std::size_t length;
  std::uint32_t entries;
  const std::uint32_t* end;
  std::uint64_t* sound;

  KOKKOS_FUNCTION void operator()(std::size_t) const {
    const auto used = static_cast<unsigned>(length % 8);
    const bool ends = used == 0 || static_cast<unsigned>(map[length / 8]) >> used == 0;
    *sound = ends && *end == entries ? 1 : 0;
  }
};

struct IndexDense {
  std::size_t length;
  std::uint32_t* before;
  std::uint64_t* sound;

  KOKKOS_FUNCTION void operator()(std::size_t block) const {
    before[block] = static_cast<std::uint32_t>(lesser(block * block_places, length));
    if (block == 0) *sound = 1;
  }
};

}  // namespace

void SpaceBackend::index(const EntriesView& view, std::size_t length, std::uint32_t* before,
                         std::uint64_t* sound) const {
  const std::size_t blocks = blocks_of(length);
  switch (view.format) {
    case Format::Coordinates:
      return index_list({view.places, view.entries, view.base}, length, before, sound);
    case Format::Local16:
      return index_local(view, length, before, sound);
    case Format::Bitmap:
      count_bits(view.places, length, before);
      return Space::for_each(1, JudgeBitmap{view.places, length, view.entries, before + blocks, sound});
    case Format::Dense:
      return Space::for_each(blocks + 1, IndexDense{length, before, sound});
  }
}

}  // namespace lacuna::kernels
