#include "kernels/places.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

struct WriteHeader {
  EntriesHeader header;
  std::byte* to;

  KOKKOS_FUNCTION void operator()(std::size_t) const { store(to, 0, header); }
};

struct ReadHeader {
  const std::byte* from;
  EntriesHeader* header;

  KOKKOS_FUNCTION void operator()(std::size_t) const { *header = load<EntriesHeader>(from, 0); }
};

struct WriteCoordinates {
  PlaceList from;
  std::byte* to;

  KOKKOS_FUNCTION void operator()(std::size_t i) const { store(to, i, from[i]); }
};

struct CountLocal {
  PlaceList from;
  std::byte* counts;

  KOKKOS_FUNCTION void operator()(std::size_t group) const {
    const std::size_t first = from.below(group * local_places);
    const std::size_t last = from.below((group + 1) * local_places, first, lesser(first + local_places, from.count));
    store(counts, group, static_cast<std::uint32_t>(last - first));
  }
};

struct WriteLocal {
  PlaceList from;
  std::byte* to;

  KOKKOS_FUNCTION void operator()(std::size_t i) const { store(to, i, static_cast<std::uint16_t>(from[i])); }
};

template <class T>
struct CopyValues {
  const std::byte* from;
  std::byte* to;

  KOKKOS_FUNCTION void operator()(std::size_t i) const { store(to, i, load<T>(from, i)); }
};

template <class T>
struct WriteDense {
  PlaceList places;
  const std::byte* from;
  std::size_t length;
  std::byte* to;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t start = team.number() * block_places;
    const std::size_t count = lesser(block_places, length - start);
    team.each(count, [&](std::size_t i) { store(to, start + i, narrow<T>(WideOf<T>{0})); });
    team.barrier();
    const std::size_t first = places.below(start);
    const std::size_t last = places.below(start + count, first, lesser(first + count, places.count));
    team.each(last - first, [&](std::size_t i) { store(to, places[first + i], load<T>(from, first + i)); });
  }
};

}  // namespace

void SpaceBackend::encode(const EntriesHeader& header, const EntriesView& list, std::byte* to) const {
  const std::size_t entries = header.entries, length = header.length;
  const PlaceList from{list.places, entries, list.base};
  std::byte* const places = to + sizeof(EntriesHeader);
  std::byte* const values = places + place_bytes(header.format, entries, length);
  Space::for_each(1, WriteHeader{header, to});
  with_floating_element(header.dtype, [&]<class T>(Element<T>) {
    if (header.format == Format::Dense) {
      return Space::for_teams(blocks_of(length), 0, WriteDense<T>{from, list.values, length, values});
    }
    Space::for_each(entries, CopyValues<T>{list.values, values});
  });
  switch (header.format) {
    case Format::Coordinates:
      return Space::for_each(entries, WriteCoordinates{from, places});
    case Format::Local16:
      Space::for_each(local_groups_of(length), CountLocal{from, places});
      return Space::for_each(entries, WriteLocal{from, places + local_groups_of(length) * sizeof(std::uint32_t)});
    case Format::Bitmap:
      return PackBits{from, length, places}.run();
    case Format::Dense:
      return;
  }
}

void SpaceBackend::read_header(const std::byte* message, EntriesHeader* header) const {
  Space::for_each(1, ReadHeader{message, header});
}

}  // namespace lacuna::kernels
