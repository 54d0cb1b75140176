#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/kernels/backends.hpp"

namespace lacuna::test {

using Bytes = std::vector<std::byte>;
using Bits = std::vector<bool>;
using Values = std::vector<double>;

/// The type of the cells of a sketch of such data.
inline Dtype cells_of(Dtype dtype) {
  if (is_integer(dtype)) return Dtype::I64;
  return dtype == Dtype::F64 ? Dtype::F64 : Dtype::F32;
}

inline Bytes map_of(const Bits& bits) {
  Bytes map((bits.size() + 7) / 8);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (bits[i]) map[i / 8] |= std::byte{1} << i % 8;
  }
  return map;
}
inline Bits bits_of(const Bytes& map, std::size_t count) {
  Bits bits(count);
  for (std::size_t i = 0; i < count; ++i) bits[i] = (map[i / 8] >> i % 8 & std::byte{1}) != std::byte{0};
  return bits;
}

template <class T>
kernels::Source source(Dtype dtype, const std::vector<T>& values) {
  return {dtype, reinterpret_cast<const std::byte*>(values.data()), values.size()};
}

/// The sketch of an array of f64, of the blocks of the map.
inline Values sketched(const kernels::SketchShape& shape, const Values& values, const Bytes& map) {
  Values table(shape.cells(), 1e9);
  kernels::backend().sketch(shape, source(Dtype::F64, values), map.data(),
                            {Dtype::F64, reinterpret_cast<std::byte*>(table.data()), table.size()});
  return table;
}

inline Values decoded(const kernels::SketchShape& shape, kernels::Decoding with, const Values& table, const Bytes& map,
                      std::size_t count) {
  Values out(count, 1e9);
  with.map = map.data();
  with.table = reinterpret_cast<const std::byte*>(table.data());
  kernels::backend().decode_sketch(shape, with, {Dtype::F64, reinterpret_cast<std::byte*>(out.data()), count});
  return out;
}

/// Sets of `count` numbers below `length`: drawn ones, some that follow each other at equal distances, and neighbours.
enum class Set { Drawn, Progression, Contiguous };
inline Bits set_of(Set set, std::size_t count, std::size_t length, unsigned seed) {
  Bits bits(length);
  std::mt19937_64 random(seed);
  const std::size_t step = set == Set::Progression ? length / count : 1;
  for (std::size_t i = 0; i < count && set != Set::Drawn; ++i) bits[(17 + i * step) % length] = true;
  for (std::size_t left = set == Set::Drawn ? count : 0; left > 0;) {
    const std::size_t i = random() % length;
    if (bits[i]) continue;
    bits[i] = true;
    --left;
  }
  return bits;
}

/// Normal values where the bits are set, and zeros elsewhere.
inline Values values_at(const Bits& bits, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Values values(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) values[i] = bits[i] ? normal(random) : 0;
  return values;
}

/// What a decoded array lacks: the relative L2 error, and the share of the entries that are exact.
struct Fidelity {
  double error = 0, exact = 0;
};
inline Fidelity fidelity(const Values& values, const Values& decoded) {
  double off = 0, all = 0, exact = 0, entries = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    off += (decoded[i] - values[i]) * (decoded[i] - values[i]);
    all += values[i] * values[i];
    entries += values[i] != 0;
    exact += values[i] != 0 && decoded[i] == values[i];
  }
  return {std::sqrt(off / all), exact / entries};
}

/// The fidelity of a sketch of such a set of normal values.
inline Fidelity fidelity_of(const kernels::SketchShape& shape, const kernels::Decoding& with, const Values& values,
                            const Bits& bits) {
  const Bytes map = map_of(bits);
  return fidelity(values, decoded(shape, with, sketched(shape, values, map), map, values.size()));
}

/// What was peeled of a sketch: the values where they are known, the bits of what is left, and the numbers.
template <class T>
struct PeeledArray {
  std::vector<T> values;
  Bits left;
  kernels::Peeled peeled;
};

template <class T>
PeeledArray<T> peeled(const kernels::SketchShape& shape, Dtype dtype, Bytes table, const Bytes& map, std::size_t count,
                      Scale scale = {}, const kernels::Backend& on = kernels::backend()) {
  PeeledArray<T> all;
  all.values.resize(count, T(77));
  Bytes left(map.size());
  std::vector<std::uint32_t> room(kernels::words_of_peeling(shape));
  on.peel_sketch(shape, {map.data(), left.data(), room.data(), scale},
                 {is_integer(dtype) ? Dtype::I64 : Dtype::F64, table.data(), shape.cells()},
                 {dtype, reinterpret_cast<std::byte*>(all.values.data()), count}, &all.peeled);
  all.left = bits_of(left, (count + shape.block - 1) / shape.block);
  return all;
}

/// The sketch of an array for peeling.
template <class T>
Bytes table_to_peel(const kernels::SketchShape& shape, Dtype dtype, const std::vector<T>& values, const Bytes& map) {
  Bytes table(8 * shape.cells(), std::byte{0x55});
  kernels::backend().sketch(shape, source(dtype, values), map.data(),
                            {is_integer(dtype) ? Dtype::I64 : Dtype::F64, table.data(), shape.cells()});
  return table;
}

}  // namespace lacuna::test
