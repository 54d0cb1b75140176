#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "bindings/cpp/elements.hpp"

namespace lacuna {

/// How many elements each of these entries has. Throws std::invalid_argument, with the text, if some have more than
/// others.
inline std::size_t length_of_entry(std::size_t places, std::size_t values, const char* text) {
  if (places == 0 ? values != 0 : values % places != 0) throw std::invalid_argument(text);
  return places == 0 ? 1 : values / places;
}

/// Returns the memory of places and of their values.
inline Memory common_memory(const Memory& places, const Memory& values) {
  if (are_alike(places, values)) return places;
  throw std::invalid_argument("the places and the values of entries must lie in one memory, ready after one stream");
}

/// A vector of `length` elements, given by the entries that are not 0. The method says how many elements an entry has:
/// one, or m. The values [i * m, (i + 1) * m) are those of the elements [places[i] * m, (places[i] + 1) * m). Places
/// may have any order, entries of the same place add up, and each rank has as many entries as it likes. It needs a
/// method that takes entries.
template <class T>
struct SparseInput {
  /// Throws std::invalid_argument if the values are not m for each place.
  SparseInput(std::span<const std::uint32_t> where, std::span<const T> what, std::size_t elements)
      : places(where), values(what), length(elements) {
    (void)entry_length();
  }
  /// The same for entries in another memory than the host's. Throws std::invalid_argument if places and values do not
  /// lie in one memory.
  template <class Place, class Value>
  requires std::is_same_v<std::remove_const_t<Place>, std::uint32_t> && std::is_same_v<std::remove_const_t<Value>, T>
  SparseInput(MemorySpan<Place> where, MemorySpan<Value> what, std::size_t elements)
      : SparseInput(std::span<const std::uint32_t>(where.data, where.size), std::span<const T>(what.data, what.size),
                    elements) {
    memory = common_memory(where.memory, what.memory);
  }

  std::size_t entry_length() const {
    return length_of_entry(places.size(), values.size(), "a SparseInput needs as many values for each place");
  }

  std::span<const std::uint32_t> places;
  std::span<const T> values;
  std::size_t length;
  Memory memory{};  ///< in which the spans lie
};

/// Memory for the entries of an output, which lie as in a SparseInput. Places ascend, and each occurs once. When the
/// call has ended, `entries` has their number. If there is not enough room, the call fails. Either all ranks pass a
/// SparseOutput, or none does.
template <class T>
struct SparseOutput {
  /// Throws std::invalid_argument if there is not room for m values for each place.
  SparseOutput(std::span<std::uint32_t> where, std::span<T> what, std::size_t elements, std::size_t& count)
      : places(where), values(what), length(elements), entries(&count) {
    (void)entry_length();
  }
  /// The same for entries in another memory than the host's. `count` is a variable of the host. Throws
  /// std::invalid_argument if places and values do not lie in one memory.
  template <std::same_as<std::uint32_t> Place>
  SparseOutput(MemorySpan<Place> where, MemorySpan<T> what, std::size_t elements, std::size_t& count)
      : SparseOutput(std::span(where.data, where.size), std::span(what.data, what.size), elements, count) {
    memory = common_memory(where.memory, what.memory);
  }

  std::size_t entry_length() const {
    return length_of_entry(places.size(), values.size(), "a SparseOutput needs room for as many values for each place");
  }

  std::span<std::uint32_t> places;
  std::span<T> values;
  std::size_t length;
  std::size_t* entries;
  Memory memory{};  ///< in which the spans lie
};

}  // namespace lacuna
