#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/values/dtype.hpp"

/// Sparse arrays: in memory a list of places, strictly increasing, and as many values behind each other; in a message
/// one of four formats, whichever is shortest.
namespace lacuna::kernels {

/// How the places of a message's entries are written. The numbers travel.
enum class Format : std::uint8_t {
  Coordinates = 0,  ///< a u32 for each
  Local16 = 1,      ///< how many lie in each 65536 places, a u32 each, then a u16 for each entry
  Bitmap = 2,       ///< a bit for each place of the segment
  Dense = 3,        ///< none: a value for each place
};
inline constexpr std::array all_formats = {Format::Coordinates, Format::Local16, Format::Bitmap, Format::Dense};
inline constexpr std::array<std::string_view, 4> format_names = {"coordinates", "local16", "bitmap", "dense"};

/// In front of each message, in the byte order of the machine. Behind it stand the places, then the values, both
/// without a gap.
struct EntriesHeader {
  std::uint32_t entries = 0;  ///< of Dense: how many of its values are not zero
  std::uint32_t length = 0;   ///< places of the segment
  std::uint32_t segment = 0;  ///< which one it is
  Format format = Format::Coordinates;
  Dtype dtype = Dtype::F32;
  std::uint16_t reserved = 0;  ///< 0
};
static_assert(sizeof(EntriesHeader) == 16);

/// Places that one count of Local16 stands for.
inline constexpr std::size_t local_places = 65536;
constexpr std::size_t local_groups_of(std::size_t length) { return (length + local_places - 1) / local_places; }
/// Places that are summed up together; messages are indexed by such blocks (Backend::index).
inline constexpr std::size_t block_places = 4096;
constexpr std::size_t blocks_of(std::size_t length) { return (length + block_places - 1) / block_places; }

/// Bytes of the places of so many entries.
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

/// Bytes of a message, with its header.
constexpr std::size_t message_bytes(Format format, Dtype dtype, std::size_t entries, std::size_t length) {
  const std::size_t values = format == Format::Dense ? length : entries;
  return sizeof(EntriesHeader) + place_bytes(format, entries, length) + values * size_of(dtype);
}

/// The format of the shortest message; of equally short ones the first.
constexpr Format shortest_format(Dtype dtype, std::size_t entries, std::size_t length) {
  Format best = Format::Coordinates;
  for (Format format : all_formats) {
    if (message_bytes(format, dtype, entries, length) < message_bytes(best, dtype, entries, length)) best = format;
  }
  return best;
}

/// The most bytes that a message of at most so many entries has, in the shortest format.
constexpr std::size_t longest_message(Dtype dtype, std::size_t entries, std::size_t length) {
  const std::size_t sparse = message_bytes(Format::Coordinates, dtype, entries, length);
  const std::size_t dense = message_bytes(Format::Dense, dtype, entries, length);
  return sparse < dense ? sparse : dense;
}

/// Entries where they are to be read: of a message, or a list in memory (Coordinates). Nothing is aligned.
struct EntriesView {
  Format format = Format::Coordinates;
  std::uint32_t entries = 0;
  std::uint32_t base = 0;             ///< what Coordinates count places from; 0 in a message
  const std::byte* places = nullptr;  ///< as the format says
  const std::byte* values = nullptr;
};

/// Entries where they are to be written.
struct EntriesList {
  std::uint32_t* places = nullptr;
  std::byte* values = nullptr;
  std::size_t room = 0;    ///< entries; further ones are counted and not written
  std::uint32_t base = 0;  ///< what is added to their places
};

}  // namespace lacuna::kernels
