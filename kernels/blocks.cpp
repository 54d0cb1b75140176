#include <algorithm>
#include <type_traits>

#include "kernels/bits.hpp"
#include "kernels/magnitudes.hpp"
#include "kernels/reduce.hpp"
#include "kernels/short_blocks.hpp"
#include "kernels/space_backend.hpp"
#include "kernels/views.hpp"

namespace lacuna::kernels {
namespace {

/// Byte-wise view of a set, whose map has (count + 7) / 8 bytes.
struct Members {
  BlockSet set;
  std::size_t count;

  KOKKOS_INLINE_FUNCTION bool has(std::size_t block) const {
    return (set.map[block / 8] & std::byte{1} << block % 8) != std::byte{0};
  }
  KOKKOS_INLINE_FUNCTION std::size_t rank(std::size_t block) const {
    const std::size_t w = block / word_bits;
    const std::uint64_t before = (std::uint64_t{1} << block % word_bits) - 1;
    return set.ranks[w] + count_ones(load_word(set.map, (count + 7) / 8, w) & before);
  }
};

/// Has any of these bytes a bit that is 1?
KOKKOS_INLINE_FUNCTION bool any_bit(const std::byte* data, std::size_t bytes) {
  constexpr std::size_t words = 16, stride = words * sizeof(std::uint64_t);
  std::size_t at = 0;
  for (; at + stride <= bytes; at += stride) {
    std::uint64_t found = 0;
    for (std::size_t w = 0; w < words; ++w) found |= load<std::uint64_t>(data + at, w);
    if (found != 0) return true;
  }
  std::byte found{0};
  for (; at < bytes; ++at) found |= data[at];
  return found != std::byte{0};
}

/// A test for blocks that have any bit.
struct AnyBit {
  const std::byte* data;
  std::size_t element_bytes;

  KOKKOS_INLINE_FUNCTION bool operator()(std::size_t begin, std::size_t count) const {
    return any_bit(data + begin * element_bytes, count * element_bytes);
  }
};

/// A test for blocks that have an element above a magnitude.
template <class T>
struct AnyAbove {
  Magnitudes<T> from;
  const Cut* cut;

  KOKKOS_INLINE_FUNCTION bool operator()(std::size_t begin, std::size_t count) const {
    const auto above = CutBits<T>(*cut).above;
    for (std::size_t first = 0; first < count; first += stretch) {
      const std::size_t length = stretch_length(first, count);
      unsigned found = 0;
      for (std::size_t i = 0; i < length; ++i) found |= from[begin + first + i] > above ? 1u : 0u;
      if (found != 0) return true;
    }
    return false;
  }
};

/// Writes a byte of the map.
template <class Test>
struct FindBlocks {
  Test test;
  BlockGrid grid;
  std::byte* map;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    auto* const found = team.scratch<std::uint8_t>();
    const std::size_t first = 8 * team.number(), left = grid.count() - first;
    team.each(8,
              [&](std::size_t i) { found[i] = i < left && test(grid.begin(first + i), grid.size(first + i)) ? 1 : 0; });
    team.barrier();
    team.once([&] {
      unsigned bits = 0;
      for (unsigned i = 0; i < 8; ++i) bits |= static_cast<unsigned>(found[i]) << i;
      map[team.number()] = static_cast<std::byte>(bits);
    });
  }
};

template <class Test>
void find_blocks_by(const Test& test, const BlockGrid& grid, std::byte* map) {
  Space::for_teams((grid.count() + 7) / 8, 8, FindBlocks<Test>{test, grid, map});
}

struct RankWords {
  const std::byte* map;
  std::size_t bytes;
  std::uint32_t* ranks;

  KOKKOS_FUNCTION void operator()(std::size_t w, std::uint32_t& sum, bool final) const {
    const std::uint32_t ones = count_ones(load_word(map, bytes, w));
    if (final) ranks[w] = sum;
    sum += ones;
  }
};

struct UniteBytes {
  std::byte* map;
  const std::byte* other;

  KOKKOS_FUNCTION void operator()(std::size_t i) const { map[i] |= other[i]; }
};

/// Copies the blocks of a set between an array and packed blocks. T has the size of an element.
template <class T, bool packs>
struct MoveBlocks {
  Members members;
  BlockGrid grid;
  const std::byte* from;
  std::byte* to;
  bool clears;  ///< blocks of the array that are not in the set become 0

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t block = team.number(), size = grid.size(block);
    const std::size_t in_array = grid.begin(block) * sizeof(T);
    if (!members.has(block)) {
      if (clears) fill(team, to + in_array, size);
      return;
    }
    const std::size_t in_packed = members.rank(block) * grid.length * sizeof(T);
    const std::byte* const source = from + (packs ? in_array : in_packed);
    std::byte* const target = to + (packs ? in_packed : in_array);
    team.each(size, [=](std::size_t i) { store(target, i, load<T>(source, i)); });
  }

  KOKKOS_INLINE_FUNCTION static void fill(const Space::Team& team, std::byte* to, std::size_t size) {
    team.each(size, [=](std::size_t i) { store(to, i, T{0}); });
  }
};

/// Writes 0 to the blocks of a set.
template <class T>
struct ClearBlocks {
  Members members;
  BlockGrid grid;
  std::byte* to;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t block = team.number();
    if (!members.has(block)) return;
    MoveBlocks<T, false>::fill(team, to + grid.begin(block) * sizeof(T), grid.size(block));
  }
};

/// Sources as functors carry them, because a device can't read the caller's array.
template <std::size_t most>
struct SourceTable {
  BlockSource sources[most];
  std::size_t count;

  explicit SourceTable(std::span<const BlockSource> from) : count(from.size()) {
    std::copy_n(from.data(), count, sources);
  }
};

/// Backend::reduce_blocks for one block. Elements that are selected stay elements; others are wide.
template <class T, class Operation, class Sources>
struct ReduceBlocks {
  using Wide = WideOf<T>;
  using Held = std::conditional_t<Operation::selects, T, Wide>;
  static constexpr std::size_t most = 512;  // elements at a time
  static constexpr bool is_product = std::is_same_v<Operation, ProductOf>;

  Sources table;
  Members result;
  BlockGrid grid;
  std::byte* out;
  Scale scale;
  double term;

  KOKKOS_INLINE_FUNCTION static Held hold(T value) {
    if constexpr (Operation::selects) return value;
    if constexpr (!Operation::selects) return widen(value);
  }
  KOKKOS_INLINE_FUNCTION T rounded(Held held, bool scales) const {
    if constexpr (is_integer_element<T>) {
      return narrow<T>(held);
    } else {
      if (!scales) return narrow_held(held);
      const Wide value = widen_held(held);
      return narrow<T>(value * static_cast<Wide>(scale.multiplier) / static_cast<Wide>(scale.divisor));
    }
  }
  KOKKOS_INLINE_FUNCTION static T narrow_held(Held held) {
    if constexpr (Operation::selects) return held;
    if constexpr (!Operation::selects) return narrow<T>(held);
  }
  KOKKOS_INLINE_FUNCTION static Wide widen_held(Held held) {
    if constexpr (Operation::selects) return widen(held);
    if constexpr (!Operation::selects) return held;
  }

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t block = team.number(), size = grid.size(block);
    if (!result.has(block)) return;
    std::byte* const to = out + result.rank(block) * grid.length * sizeof(T);
    for (std::size_t first = 0; first < size; first += most) reduce(team, block, first, lesser(most, size - first), to);
  }

  /// Reduces `count` elements of the block, from `first` on.
  KOKKOS_INLINE_FUNCTION void reduce(const Space::Team& team, std::size_t block, std::size_t first, std::size_t count,
                                     std::byte* to) const {
    auto* const held = team.scratch<Held>();
    bool has_zero = false;  // a zero is among the operands so far; one is as good as several, but for products
    for (std::size_t v = 0; v < table.count; ++v) {
      const BlockSource& source = table.sources[v];
      const Members members{source.set, result.count};
      if (members.has(block)) {
        const std::size_t begin = source.is_packed ? members.rank(block) * grid.length : grid.begin(block);
        const std::byte* const from = source.data + (begin + first) * sizeof(T);
        apply_terms(team, held, count, v == 0, [=](std::size_t i) { return hold(load<T>(from, i)); });
      } else if (!has_zero || is_product) {
        apply(team, held, count, v == 0, [](std::size_t) { return hold(narrow<T>(Wide{0})); });
        has_zero = true;
      }
    }
    const bool scales = scale.multiplier != 1 || scale.divisor != 1;
    team.each(count, [=, this](std::size_t i) { store(to, first + i, rounded(held[i], scales)); });
    team.barrier();
  }

  /// The same as apply() for terms, which may have a factor.
  template <class ValueAt>
  KOKKOS_INLINE_FUNCTION void apply_terms(const Space::Team& team, Held* held, std::size_t count, bool is_first,
                                          const ValueAt& value_at) const {
    if constexpr (std::is_same_v<Operation, SumOf> && !is_integer_element<T>) {
      const auto factor = static_cast<Wide>(term);
      if (factor != 1) {
        return apply(team, held, count, is_first, [=](std::size_t i) { return factor * value_at(i); });
      }
    }
    apply(team, held, count, is_first, value_at);
  }

  template <class ValueAt>
  KOKKOS_INLINE_FUNCTION static void apply(const Space::Team& team, Held* held, std::size_t count, bool is_first,
                                           const ValueAt& value_at) {
    if (is_first) {
      team.each(count, [=](std::size_t i) { held[i] = value_at(i); });
    } else {
      team.each(count, [=](std::size_t i) { held[i] = Operation::apply(held[i], value_at(i)); });
    }
    team.barrier();
  }
};

template <class T, class Operation, class Sources>
void reduce_blocks_of(const Sources& table, const ReduceBlocksCall& call) {
  using Kernel = ReduceBlocks<TakenAs<T, Operation>, Operation, Sources>;
  const std::size_t count = call.grid.count();
  Space::for_teams(count, Kernel::most * sizeof(typename Kernel::Held),
                   Kernel{table, {call.result, count}, call.grid, call.out, call.scale, call.term});
}

template <class T, class Sources>
void reduce_blocks_as(const Sources& table, const ReduceBlocksCall& call) {
  switch (call.reduction) {
    case Reduction::Sum:
    case Reduction::Avg:
      return reduce_blocks_of<T, SumOf>(table, call);
    case Reduction::Min:
      return reduce_blocks_of<T, MinimumOf>(table, call);
    case Reduction::Max:
      return reduce_blocks_of<T, MaximumOf>(table, call);
    case Reduction::Prod:
      return reduce_blocks_of<T, ProductOf>(table, call);
    case Reduction::Own:
      break;  // methods do not take it
  }
}

}  // namespace

void SpaceBackend::find_blocks(Source from, const BlockGrid& grid, const Cut* cut, std::byte* map) const {
  if (!cut && grid.length == 1 && grid.stride == 1 && grid.first == 0) {
    return with_word(size_of(from.dtype), [&]<class T>(T) {
      Space::for_each((from.count + 7) / 8, FindElements<T>{from.data, from.count, map});
    });
  }
  if (!cut) return find_blocks_by(AnyBit{from.data, size_of(from.dtype)}, grid, map);
  with_floating_element(from.dtype, [&]<class T>(Element<T>) {
    find_blocks_by(AnyAbove<T>{{from.data, from.count}, cut}, grid, map);
  });
}

void SpaceBackend::rank_bits(const std::byte* map, std::size_t length, std::uint32_t* ranks) const {
  const std::size_t words = words_of_map(length);
  Space::scan(words, RankWords{map, (length + 7) / 8, ranks}, &ranks[words]);
}

void SpaceBackend::unite_bits(std::byte* map, const std::byte* other, std::size_t length) const {
  Space::for_each((length + 7) / 8, UniteBytes{map, other});
}

void SpaceBackend::take_blocks(Source from, const BlockGrid& grid, const BlockSet& set, std::byte* packed) const {
  const std::size_t count = grid.count();
  with_word(size_of(from.dtype), [&]<class T>(T) {
    if (grid.length < long_block) {
      Space::for_each(words_of_map(count), MoveShortBlocks<T, true>{set, count, grid, from.data, packed, false});
    } else {
      Space::for_teams(count, 0, MoveBlocks<T, true>{{set, count}, grid, from.data, packed, false});
    }
  });
}

void SpaceBackend::put_blocks(const std::byte* packed, const BlockGrid& grid, const BlockSet& set, bool clears,
                              Target to) const {
  const std::size_t count = grid.count();
  with_word(size_of(to.dtype), [&]<class T>(T) {
    if (grid.length < long_block) {
      Space::for_each(words_of_map(count), MoveShortBlocks<T, false>{set, count, grid, packed, to.data, clears});
    } else {
      Space::for_teams(count, 0, MoveBlocks<T, false>{{set, count}, grid, packed, to.data, clears});
    }
  });
}

void SpaceBackend::clear_blocks(const BlockGrid& grid, const BlockSet& set, Target to) const {
  const std::size_t count = grid.count();
  with_word(size_of(to.dtype), [&]<class T>(T) {
    Space::for_teams(count, 0, ClearBlocks<T>{{set, count}, grid, to.data});
  });
}

void SpaceBackend::copy_bytes(const std::byte* from, std::size_t bytes, std::byte* to) const {
  if (bytes != 0) Space::move(to, from, bytes);
}

void SpaceBackend::reduce_blocks(std::span<const BlockSource> sources, const ReduceBlocksCall& call) const {
  with_element(call.dtype, [&]<class T>(Element<T>) {
    if (sources.size() <= 64) return reduce_blocks_as<T>(SourceTable<64>(sources), call);
    reduce_blocks_as<T>(SourceTable<most_views>(sources), call);
  });
}

}  // namespace lacuna::kernels
