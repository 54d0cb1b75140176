#include "tests/support/oracle.hpp"

#include <algorithm>
#include <cstring>

#include "tests/kernels/oracle.hpp"

namespace lacuna::test {
namespace {

constexpr std::int64_t small_limit = 4096;  // results of floating-point cases stay below this

std::uint64_t hash(Rank rank, std::size_t element) {
  std::uint64_t word = static_cast<std::uint64_t>(rank + 1) * 0x9e3779b97f4a7c15u + element * 0xd1342543de82ef95u;
  word ^= word >> 29;
  word *= 0xbf58476d1ce4e5b9u;
  return word ^ (word >> 32);
}

std::int64_t small_value(Reduction reduction, Rank rank, std::uint64_t random) {
  switch (reduction) {
    case Reduction::Min:
    case Reduction::Max:
      return static_cast<std::int64_t>(random % 241) - 120;
    case Reduction::Prod: {  // only some are twos, so that the product of 16 ranks stays at 2^8
      const std::int64_t magnitude = rank % 2 == 0 && random % 4 == 0 ? 2 : 1;
      return random % 3 == 0 ? -magnitude : magnitude;
    }
    default:
      return static_cast<std::int64_t>(random % 31) - 15;
  }
}

std::int64_t value_of(Dtype dtype, Reduction reduction, Rank rank, std::size_t element) {
  const std::uint64_t random = hash(rank, element);
  switch (dtype) {
    case Dtype::U8:
      return static_cast<std::uint8_t>(random);
    case Dtype::I32:
      return static_cast<std::int32_t>(random);
    case Dtype::I64:
      return static_cast<std::int64_t>(random);
    default:
      return small_value(reduction, rank, random);
  }
}

std::int64_t combine(Reduction reduction, std::int64_t a, std::int64_t b) {
  switch (reduction) {
    case Reduction::Min:
      return std::min(a, b);
    case Reduction::Max:
      return std::max(a, b);
    case Reduction::Prod:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    default:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}

std::uint64_t bits_of(Dtype dtype, std::int64_t value, double divisor) {
  if (is_integer(dtype)) return static_cast<std::uint64_t>(value);
  return oracle::scaled(dtype, static_cast<double>(value), {.divisor = divisor});
}

}  // namespace

Oracle::Oracle(Rank size, Dtype dtype, Reduction reduction, std::size_t elements)
    : size_(size), dtype_(dtype), reduction_(reduction) {
  const std::size_t width = size_of(dtype);
  if (!is_integer(dtype)) {
    const double divisor = reduction == Reduction::Avg ? size : 1;
    for (std::int64_t i = -small_limit; i <= small_limit; ++i) results_.push_back(bits_of(dtype, i, divisor));
  }
  for (Rank rank = 0; rank < size; ++rank) {
    auto& values = values_.emplace_back(elements);
    auto& bytes = inputs_.emplace_back(elements * width);
    for (std::size_t i = 0; i < elements; ++i) {
      values[i] = value_of(dtype, reduction, rank, i);
      const std::uint64_t bits = bits_of(dtype, values[i], 1);
      std::memcpy(bytes.data() + i * width, &bits, width);
    }
  }
  totals_ = values_[0];
  for (Rank rank = 1; rank < size; ++rank) {
    for (std::size_t i = 0; i < elements; ++i) {
      totals_[i] = combine(reduction, totals_[i], values_[static_cast<std::size_t>(rank)][i]);
    }
  }
  reduced_.resize(elements * width);
  for (std::size_t i = 0; i < elements; ++i) write(totals_[i], reduced_.data() + i * width);
}

void Oracle::write(std::int64_t value, std::byte* to) const {
  const std::uint64_t bits = is_integer(dtype_) ? static_cast<std::uint64_t>(value)
                                                : results_.at(static_cast<std::size_t>(value + small_limit));
  std::memcpy(to, &bits, size_of(dtype_));
}

void Oracle::write_sum_without(const std::vector<Rank>& left_out, std::size_t i, std::byte* to) const {
  auto sum = static_cast<std::uint64_t>(totals_[i]);
  for (Rank rank : left_out) sum -= static_cast<std::uint64_t>(values_[static_cast<std::size_t>(rank)][i]);
  write(static_cast<std::int64_t>(sum), to);
}

void Oracle::write_prefix(Rank ranks, std::size_t i, std::byte* to) const {
  std::int64_t value = values_[0][i];
  for (Rank rank = 1; rank < ranks; ++rank) {
    value = combine(reduction_, value, values_[static_cast<std::size_t>(rank)][i]);
  }
  write(value, to);
}

const Oracle& Oracles::get(Dtype dtype, Reduction reduction) {
  const auto key = std::tuple(dtype, reduction);
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  return made_.emplace(key, Oracle(size_, dtype, reduction, elements_)).first->second;
}

std::size_t exact_boundary(std::size_t i, std::size_t n, std::size_t m) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>(static_cast<Wide>(i) * n / m);
}

std::size_t expected_parts(Collective collective, std::size_t bytes, Rank size, std::size_t chunk_bytes) {
  const std::size_t piece = collective == Collective::Allreduce ? bytes / static_cast<std::size_t>(size) : bytes;
  std::size_t parts = 1;
  while (parts < 64 && piece / (2 * parts) >= chunk_bytes) parts *= 2;
  return parts;
}

}  // namespace lacuna::test
