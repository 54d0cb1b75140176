#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/values/dtype.hpp"

/// Sparse arrays. In memory, an array is a list of places, which strictly increase, and a list of as many values. A
/// message has the shortest of four formats.
namespace lacuna::kernels {

/// How the places of a message's entries are written. The numbers of the formats travel.
enum class Format : std::uint8_t {
  Coordinates = 0,  ///< a u32 for each entry
  Local16 = 1,      ///< a u32 for each 65536 places, which counts their entries; then a u16 for each entry
  Bitmap = 2,       ///< a bit for each place of the range
  Dense = 3,        ///< no places: each place of the range has a value
};
inline constexpr std::array all_formats = {Format::Coordinates, Format::Local16, Format::Bitmap, Format::Dense};
inline constexpr std::array<std::string_view, 4> format_names = {"coordinates", "local16", "bitmap", "dense"};

/// The header of a message, in the byte order of the machine. Directly behind it stand the places, and then the values.
struct EntriesHeader {
  std::uint32_t entries = 0;  ///< number of entries; in the format Dense, of values that are not zero
  std::uint32_t length = 0;   ///< number of places of the range
  std::uint32_t segment = 0;  ///< the number of the range
  Format format = Format::Coordinates;
  Dtype dtype = Dtype::F32;
  std::uint16_t reserved = 0;  ///< must be 0
};
static_assert(sizeof(EntriesHeader) == 16);

/// The number of places for which one count of Local16 stands.
inline constexpr std::size_t local_places = 65536;
constexpr std::size_t local_groups_of(std::size_t length) { return (length + local_places - 1) / local_places; }
/// The number of places of a block. Blocks are summed up one by one, and Backend::index() says where they begin.
inline constexpr std::size_t block_places = 4096;
constexpr std::size_t blocks_of(std::size_t length) { return (length + block_places - 1) / block_places; }

/// The bytes that the places of so many entries take, in a range of `length` places.
constexpr std::size_t place_bytes(Format format, std::size_t entries, std::size_t length) {
  switch (format) {
    case Format::Coordinates:
      return entries * sizeof(std::uint32_t);
    case Format::Local16:
      return local_groups_of(length) * sizeof(std::uint32_t) + entries * sizeof(std::uint16_t);
    case Format::Bitmap:
      return (length + 7) / 8;
    case Format::Dense:
      break;
  }
  return 0;
}

/// The bytes of a message, with its header.
constexpr std::size_t message_bytes(Format format, Dtype dtype, std::size_t entries, std::size_t length) {
  const std::size_t values = format == Format::Dense ? length : entries;
  return sizeof(EntriesHeader) + place_bytes(format, entries, length) + values * size_of(dtype);
}

/// The format of the shortest message, and of equally short ones the first.
constexpr Format shortest_format(Dtype dtype, std::size_t entries, std::size_t length) {
  Format best = Format::Coordinates;
  for (Format format : all_formats) {
    if (message_bytes(format, dtype, entries, length) < message_bytes(best, dtype, entries, length)) best = format;
  }
  return best;
}

/// The most bytes that a message of at most so many entries can have in the shortest format.
constexpr std::size_t longest_message(Dtype dtype, std::size_t entries, std::size_t length) {
  const std::size_t sparse = message_bytes(Format::Coordinates, dtype, entries, length);
  const std::size_t dense = message_bytes(Format::Dense, dtype, entries, length);
  return sparse < dense ? sparse : dense;
}

/// Entries to be read: those of a message, or a list in memory, which has the format Coordinates. The data may lie at
/// any address.
struct EntriesView {
  Format format = Format::Coordinates;
  std::uint32_t entries = 0;
  std::uint32_t base = 0;             ///< Coordinates count places from this one; 0 in a message
  const std::byte* places = nullptr;  ///< the places, written in this format
  const std::byte* values = nullptr;
};

/// A list in memory to which entries are written.
struct EntriesList {
  std::uint32_t* places = nullptr;
  std::byte* values = nullptr;
  std::size_t room = 0;    ///< so many entries fit; further ones are counted, but not written
  std::uint32_t base = 0;  ///< is added to the place of each entry
};

}  // namespace lacuna::kernels
