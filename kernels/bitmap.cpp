#include "kernels/bits.hpp"
#include "kernels/places.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

struct UnpackWords {
  const std::byte* map;
  std::size_t bytes;
  std::uint32_t* places;

  KOKKOS_FUNCTION void operator()(std::size_t w, std::uint64_t& sum, bool final) const {
    const std::uint64_t word = load_word(map, bytes, w);
    if (final) {
      std::uint32_t* to = places + sum;
      for_each_one(word, w, [&](std::size_t place) { *to++ = static_cast<std::uint32_t>(place); });
    }
    sum += count_ones(word);
  }
};

struct CountBlock {
  const std::byte* map;
  std::size_t bytes;
  std::uint32_t* before;

  KOKKOS_FUNCTION void operator()(std::size_t block) const {
    std::uint32_t ones = 0;
    for (std::size_t w = 0; w < block_words; ++w) ones += count_ones(load_word(map, bytes, block * block_words + w));
    before[block] = ones;
  }
};

struct SumBlocks {
  std::uint32_t* before;

  KOKKOS_FUNCTION void operator()(std::size_t block, std::uint32_t& sum, bool final) const {
    const std::uint32_t ones = before[block];
    if (final) before[block] = sum;
    sum += ones;
  }
};

}  // namespace

void SpaceBackend::pack_bits(std::span<const std::uint32_t> places, std::uint32_t base, std::size_t length,
                             std::byte* map) const {
  PackBits{{std::as_bytes(places).data(), places.size(), base}, length, map}.run();
}

void SpaceBackend::unpack_bits(const std::byte* map, std::size_t length, std::uint32_t* places,
                               std::uint64_t* count) const {
  Space::scan((length + word_bits - 1) / word_bits, UnpackWords{map, (length + 7) / 8, places}, count);
}

void SpaceBackend::count_bits(const std::byte* map, std::size_t length, std::uint32_t* before) const {
  const std::size_t blocks = blocks_of(length);
  Space::for_each(blocks, CountBlock{map, (length + 7) / 8, before});
  Space::scan(blocks, SumBlocks{before}, &before[blocks]);
}

}  // namespace lacuna::kernels
