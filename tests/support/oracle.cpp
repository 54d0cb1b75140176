#include "tests/support/oracle.hpp"

#include <algorithm>
#include <array>
#include <cmath>
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

/// One of (2 + i), i (2 + i), -(2 + i) and -i (2 + i). A product of these has no part that is 0, so that no sign of a
/// zero depends on the order.
Oracle::Value complex_factor(std::uint64_t random) {
  constexpr Oracle::Value factors[] = {{2, 1}, {-1, 2}, {-2, -1}, {1, -2}};
  return factors[random % 4];
}

Oracle::Value value_of(Dtype dtype, Reduction reduction, Rank rank, std::size_t element) {
  const std::uint64_t random = hash(rank, element);
  switch (element_kind(dtype)) {
    case ElementKind::Floating:
      return {small_value(reduction, rank, random)};
    case ElementKind::Integer: {
      const auto shift = 64 - 8 * size_of(dtype);  // keeps the low bytes, with the sign of the type
      const bool is_signed = to_string(dtype).starts_with('i');
      return {is_signed ? static_cast<std::int64_t>(random << shift) >> shift
                        : static_cast<std::int64_t>(random << shift >> shift)};
    }
    case ElementKind::Complex:
      if (reduction == Reduction::Prod) return complex_factor(random);
      return {small_value(reduction, rank, random), small_value(reduction, rank, random >> 32)};
    case ElementKind::Located:
      return {small_value(Reduction::Min, rank, random) / 40, static_cast<std::int64_t>(random >> 20) % 7 - 3};
    case ElementKind::Opaque:
      break;
  }
  return {static_cast<std::int64_t>(random)};
}

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t product_of(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// Does a come before b? Of equal ones the one with the lower index does.
bool is_before(Dtype dtype, const Oracle::Value& a, const Oracle::Value& b, bool largest) {
  if (a.first == b.first) return a.second <= b.second;
  const bool is_less = dtype == Dtype::U64 ? static_cast<std::uint64_t>(a.first) < static_cast<std::uint64_t>(b.first)
                                           : a.first < b.first;
  return is_less != largest;
}

Oracle::Value combine(Dtype dtype, Reduction reduction, const Oracle::Value& a, const Oracle::Value& b) {
  switch (reduction) {
    case Reduction::Min:
    case Reduction::Max:
      return is_before(dtype, a, b, reduction == Reduction::Max) ? a : b;
    case Reduction::Prod:
      return {product_of(a.first, b.first) - product_of(a.second, b.second),
              product_of(a.first, b.second) + product_of(a.second, b.first)};
    default:
      return {sum_of(a.first, b.first), sum_of(a.second, b.second)};
  }
}

/// The bits of value / divisor * 2^exponent.
std::uint64_t bits_of(Dtype dtype, std::int64_t value, double divisor = 1, int exponent = 0) {
  if (is_integer(dtype)) return static_cast<std::uint64_t>(value);
  const double rounded = oracle::accumulated(dtype, static_cast<double>(value) / divisor);
  return oracle::encode(dtype, std::ldexp(rounded, exponent));
}

/// The numbers of means are whole multiples of this power of two. They lie so near the largest number that the type
/// holds that a sum of two of them may be out of range.
int exponent_of(Dtype dtype, Reduction reduction) {
  if (!is_floating(dtype) || reduction != Reduction::Avg) return 0;
  return dtype == Dtype::F16 ? 12 : dtype == Dtype::F64 ? 1020 : 124;
}

/// The type of one of the two numbers of an element.
Dtype part_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::C64:
    case Dtype::LocatedF32:
      return Dtype::F32;
    case Dtype::C128:
    case Dtype::LocatedF64:
      return Dtype::F64;
    case Dtype::LocatedI32:
      return Dtype::I32;
    default:
      return element_kind(dtype) == ElementKind::Located ? Dtype::I64 : dtype;
  }
}

void put(std::uint64_t bits, std::size_t bytes, std::byte* to) { std::memcpy(to, &bits, bytes); }

/// Writes an element that is no real number.
void write_compound(Dtype dtype, const Oracle::Value& value, std::byte* to) {
  const std::size_t width = size_of(dtype);
  if (element_kind(dtype) == ElementKind::Opaque) {  // the bytes are multiples of one, as are those of its sums
    for (std::size_t i = 0; i < width; ++i)
      to[i] = static_cast<std::byte>((2 * i + 1) * static_cast<std::uint64_t>(value.first));
    return;
  }
  const Dtype part = part_of(dtype);
  put(bits_of(part, value.first) & (~std::uint64_t{0} >> (64 - 8 * size_of(part))), 8, to);  // and zeros behind it
  const bool is_complex = element_kind(dtype) == ElementKind::Complex;
  put(is_complex ? bits_of(part, value.second) : static_cast<std::uint64_t>(value.second), width / 2, to + width / 2);
}

}  // namespace

Oracle::Oracle(Rank size, Dtype dtype, Reduction reduction, std::size_t elements)
    : size_(size), dtype_(dtype), reduction_(reduction) {
  const std::size_t width = size_of(dtype);
  const int exponent = exponent_of(dtype, reduction);
  if (is_floating(dtype)) {
    const double divisor = reduction == Reduction::Avg ? size : 1;
    for (std::int64_t i = -small_limit; i <= small_limit; ++i) {
      results_.push_back(bits_of(dtype, i, divisor, exponent));
    }
  }
  for (Rank rank = 0; rank < size; ++rank) {
    auto& values = values_.emplace_back(elements);
    auto& bytes = inputs_.emplace_back(elements * width);
    for (std::size_t i = 0; i < elements; ++i) {
      values[i] = value_of(dtype, reduction, rank, i);
      std::byte* const to = bytes.data() + i * width;
      if (is_real(dtype)) {
        put(bits_of(dtype, values[i].first, 1, exponent), width, to);
      } else {
        write_compound(dtype, values[i], to);
      }
    }
  }
  totals_ = values_[0];
  for (Rank rank = 1; rank < size; ++rank) {
    for (std::size_t i = 0; i < elements; ++i) {
      totals_[i] = combine(dtype, reduction, totals_[i], values_[static_cast<std::size_t>(rank)][i]);
    }
  }
  reduced_.resize(elements * width);
  for (std::size_t i = 0; i < elements; ++i) write(totals_[i], reduced_.data() + i * width);
}

void Oracle::write(const Value& value, std::byte* to) const {
  if (!is_real(dtype_)) return write_compound(dtype_, value, to);
  put(is_integer(dtype_) ? static_cast<std::uint64_t>(value.first)
                         : results_.at(static_cast<std::size_t>(value.first + small_limit)),
      size_of(dtype_), to);
}

void Oracle::write_sum_without(const std::vector<Rank>& left_out, std::size_t i, std::byte* to) const {
  auto sum = static_cast<std::uint64_t>(totals_[i].first);
  for (Rank rank : left_out) sum -= static_cast<std::uint64_t>(values_[static_cast<std::size_t>(rank)][i].first);
  write({static_cast<std::int64_t>(sum)}, to);
}

void Oracle::write_prefix(Rank ranks, std::size_t i, std::byte* to) const {
  Value value = values_[0][i];
  for (Rank rank = 1; rank < ranks; ++rank) {
    value = combine(dtype_, reduction_, value, values_[static_cast<std::size_t>(rank)][i]);
  }
  write(value, to);
}

std::vector<Reduction> reductions_of(Dtype dtype) {
  std::vector<Reduction> all(all_reductions.begin(), all_reductions.end());
  all.push_back(Reduction::Own);
  std::erase_if(all, [&](Reduction reduction) { return !defines(dtype, reduction); });
  return all;
}

OwnReduction sum_of_bytes(Dtype dtype) {
  static constexpr std::array widths = [] {
    std::array<std::size_t, all_dtypes.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = size_of(all_dtypes[i]);
    return all;
  }();
  const OwnFunction add = [](void* width, const void* in, void* inout, std::size_t count) {
    const auto* const from = static_cast<const unsigned char*>(in);
    auto* const to = static_cast<unsigned char*>(inout);
    for (std::size_t i = 0; i < count * *static_cast<const std::size_t*>(width); ++i) {
      to[i] = static_cast<unsigned char>(to[i] + from[i]);
    }
  };
  return {
      .function = add, .context = const_cast<std::size_t*>(&widths[static_cast<std::size_t>(dtype)]), .id = 0x5ca1e};
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
  while (parts < (1u << 14) && piece / (2 * parts) >= chunk_bytes) parts *= 2;
  return parts;
}

}  // namespace lacuna::test
