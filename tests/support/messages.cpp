#include "tests/support/messages.hpp"

#include <cstring>

#include "tests/kernels/oracle.hpp"

namespace lacuna::test {
namespace {

using kernels::Backend;
using kernels::EntriesView;
using kernels::Format;

void append(Bytes& to, std::uint64_t number, std::size_t bytes) {
  const auto* first = reinterpret_cast<const std::byte*>(&number);
  to.insert(to.end(), first, first + bytes);
}

/// Takes numbers from the front of a message.
struct Reader {
  std::span<const std::byte> rest;
  bool short_of = false;

  std::uint64_t take(std::size_t bytes) {
    std::uint64_t number = 0;
    short_of = short_of || bytes > rest.size();
    if (short_of) return 0;
    std::memcpy(&number, rest.data(), bytes);
    rest = rest.subspan(bytes);
    return number;
  }
};

/// The places of a message, as they stand there. Nothing if there are fewer than its header says.
std::optional<std::vector<std::uint64_t>> read_places(Reader& from, Format format, std::uint64_t entries,
                                                      std::size_t length) {
  std::vector<std::uint64_t> places;
  if (format == Format::Coordinates) {
    for (std::uint64_t i = 0; i < entries; ++i) places.push_back(from.take(4));
  } else if (format == Format::Local16) {
    std::vector<std::uint64_t> counts;
    for (std::uint64_t start = 0; start < length; start += 65536) counts.push_back(from.take(4));
    for (std::size_t group = 0; group < counts.size(); ++group) {
      for (std::uint64_t i = 0; i < counts[group]; ++i) {
        if (places.size() == entries) return std::nullopt;
        places.push_back(group * 65536 + from.take(2));
      }
    }
  } else if (format == Format::Bitmap) {
    for (std::uint64_t start = 0; start < length; start += 8) {
      const std::uint64_t byte = from.take(1);
      for (std::uint64_t bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1) != 0) places.push_back(start + bit);
      }
    }
  } else {
    for (std::uint64_t i = 0; i < length; ++i) places.push_back(i);
    return places;
  }
  if (places.size() != entries) return std::nullopt;
  return places;
}

}  // namespace

Sparse drawn_sparse(Dtype dtype, std::size_t length, double density, std::mt19937_64& random) {
  Sparse sparse{dtype, length, {}, {}};
  std::vector<std::uint64_t> numbers;
  for (int number : {1, 2, 3, 4, 5, 6, 7, 8}) {
    numbers.push_back(oracle::encode(dtype, number));
    numbers.push_back(oracle::encode(dtype, -number));
  }
  for (std::size_t place = 0; place < length; ++place) {
    if (static_cast<double>(random() >> 11) * 0x1p-53 >= density) continue;
    sparse.places.push_back(static_cast<std::uint32_t>(place));
    sparse.values.push_back(numbers[random() % numbers.size()]);
  }
  return sparse;
}

Bytes packed(Dtype dtype, const std::vector<std::uint64_t>& values) {
  const std::size_t size = size_of(dtype);
  Bytes bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(bytes.data() + i * size, &values[i], size);
  return bytes;
}

std::uint64_t element_bits(Dtype dtype, const std::byte* data, std::size_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, data + i * size_of(dtype), size_of(dtype));
  return bits;
}

Bytes written(const Sparse& sparse, Format format, std::uint32_t segment) {
  Bytes message;
  append(message, sparse.places.size(), 4);
  append(message, sparse.length, 4);
  append(message, segment, 4);
  append(message, static_cast<std::uint64_t>(format), 1);
  append(message, static_cast<std::uint64_t>(sparse.dtype), 1);
  append(message, 0, 2);
  std::vector<std::uint64_t> groups((sparse.length + 65535) / 65536), bytes((sparse.length + 7) / 8);
  std::vector<std::uint64_t> dense(sparse.length);
  for (std::size_t i = 0; i < sparse.places.size(); ++i) {
    ++groups[sparse.places[i] / 65536];
    bytes[sparse.places[i] / 8] |= 1u << sparse.places[i] % 8;
    dense[sparse.places[i]] = sparse.values[i];
  }
  if (format == Format::Local16) {
    for (std::uint64_t group : groups) append(message, group, 4);
  } else if (format == Format::Bitmap) {
    for (std::uint64_t byte : bytes) append(message, byte, 1);
  }
  for (std::uint32_t place : sparse.places) {
    if (format == Format::Coordinates) append(message, place, 4);
    if (format == Format::Local16) append(message, place % 65536, 2);
  }
  const Bytes values = packed(sparse.dtype, format == Format::Dense ? dense : sparse.values);
  message.insert(message.end(), values.begin(), values.end());
  return message;
}

std::optional<Sparse> read(std::span<const std::byte> message, Dtype dtype, std::uint32_t segment, std::size_t length) {
  Reader from{message};
  const std::uint64_t entries = from.take(4);
  const bool expected = from.take(4) == length && from.take(4) == segment;
  const std::uint64_t format = from.take(1);
  const bool of_dtype = from.take(1) == static_cast<std::uint64_t>(dtype) && from.take(2) == 0;
  if (from.short_of || !expected || !of_dtype || format > 3 || entries > length) return std::nullopt;
  const auto places = read_places(from, static_cast<Format>(format), entries, length);
  if (!places) return std::nullopt;
  Sparse sparse{dtype, length, {}, {}};
  for (std::size_t i = 0; i < places->size(); ++i) {
    const std::uint64_t place = (*places)[i], value = from.take(size_of(dtype));
    if (place >= length || (i > 0 && place <= (*places)[i - 1])) return std::nullopt;
    if (oracle::decode(dtype, value) == 0) continue;
    sparse.places.push_back(static_cast<std::uint32_t>(place));
    sparse.values.push_back(value);
  }
  if (from.short_of || !from.rest.empty()) return std::nullopt;
  return sparse;
}

Bytes encoded(const Backend& on, const Sparse& sparse, Format format, std::uint32_t segment, std::uint32_t base) {
  const auto entries = static_cast<std::uint32_t>(sparse.places.size());
  std::vector<std::uint64_t> shifted;
  for (std::uint32_t place : sparse.places) shifted.push_back(place + base);
  const Bytes places = packed(Dtype::I32, shifted), values = packed(sparse.dtype, sparse.values);
  const std::size_t bytes = message_bytes(format, sparse.dtype, entries, sparse.length);
  Bytes memory(bytes + 1, std::byte{0xee});
  on.encode({entries, static_cast<std::uint32_t>(sparse.length), segment, format, sparse.dtype, 0},
            {Format::Coordinates, entries, base, places.data(), values.data()}, memory.data() + 1);
  return {memory.begin() + 1, memory.end()};
}

std::optional<Indexed> indexed(const Backend& on, std::span<const std::byte> message, Dtype dtype,
                               std::uint32_t segment, std::size_t length) {
  Indexed result{Bytes(message.size() + 1), {}, std::vector<std::uint32_t>(kernels::blocks_of(length) + 1, 0xeeeeeeee)};
  std::copy(message.begin(), message.end(), result.memory.begin() + 1);
  const auto view = kernels::view_of(on, std::span(result.memory).subspan(1), dtype, segment, length);
  if (!view) return std::nullopt;
  result.view = *view;
  std::uint64_t sound = 2;
  on.index(result.view, length, result.before.data(), &sound);
  if (sound != 1) return std::nullopt;
  return result;
}

Merged merged(const Backend& on, const std::vector<Indexed>& from, Scale scale, Dtype dtype, std::size_t length,
              std::size_t room) {
  std::vector<EntriesView> views;
  std::vector<const std::uint32_t*> before;
  for (const Indexed& one : from) views.push_back(one.view), before.push_back(one.before.data());
  Merged result{{dtype, length, std::vector<std::uint32_t>(room), {}}, 0};
  Bytes work(Backend::merge_places * size_of(dtype) + 1), values(room * size_of(dtype) + 1);
  on.merge(views, before.data(), scale, length, {dtype, work.data() + 1, Backend::merge_places},
           {result.sparse.places.data(), values.data() + 1, room}, &result.taken);
  result.sparse.places.resize(std::min<std::size_t>(room, result.taken));
  for (std::size_t i = 0; i < result.sparse.places.size(); ++i) {
    result.sparse.values.push_back(element_bits(dtype, values.data() + 1, i));
  }
  return result;
}

Summed summed(const Backend& on, const std::vector<Indexed>& from, Scale scale, Dtype dtype, std::size_t length) {
  std::vector<EntriesView> views;
  std::vector<const std::uint32_t*> before;
  for (const Indexed& one : from) views.push_back(one.view), before.push_back(one.before.data());
  Bytes out(length * size_of(dtype) + 1, std::byte{0xee});
  Summed result;
  on.sum(views, before.data(), scale, {dtype, out.data() + 1, length}, &result.entries);
  for (std::size_t i = 0; i < length; ++i) result.elements.push_back(element_bits(dtype, out.data() + 1, i));
  return result;
}

}  // namespace lacuna::test
