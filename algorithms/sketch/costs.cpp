#include <algorithm>
#include <cmath>

#include "algorithms/sketch/steps.hpp"

namespace lacuna::sketching {
namespace {

/// What each rank sends on average of an array of so many bytes that is reduced in pieces and then gathered.
double sent(double bytes, Rank size) { return 2.0 * (size - 1) / size * bytes; }

/// The expected union: how many blocks it has.
double expected_blocks(const ExpectedPart& part) { return part.blocks_of(part.size, options_of(part.call).block); }
double expected_elements(const ExpectedPart& part) {
  return std::min(expected_blocks(part) * static_cast<double>(options_of(part.call).block), part.places);
}
double expected_map(const ExpectedPart& part) {
  return std::ceil(std::ceil(part.places / static_cast<double>(options_of(part.call).block)) / 8);
}

double expected_bytes_of_elements(const ExpectedPart& part) {
  return expected_elements(part) * static_cast<double>(size_of(part.call.dtype));
}

/// The bytes of the count sketch of a usual run, or 0 if it is not shorter than the union.
double expected_bytes_of_sketch(const ExpectedPart& part) {
  const Sketch& asked = options_of(part.call);
  const Arguments with{.buckets = buckets_for(asked, expected_elements(part))};
  if (!sketch_is_shorter(part.call, with, static_cast<std::uint64_t>(expected_elements(part)))) return 0;
  return static_cast<double>(shape_of(asked, asked.rows, with).cells() * bytes_of(cells_for(part.call.dtype)));
}

double count_sketch_bytes(const ExpectedPart& part) {
  const double sketch = expected_bytes_of_sketch(part);
  return sent(expected_map(part) + (sketch > 0 ? sketch : expected_bytes_of_elements(part)), part.size);
}

double compaction_bytes(const ExpectedPart& part) {
  return sent(expected_map(part) + expected_bytes_of_elements(part), part.size);
}

double peel_bytes(const ExpectedPart& part) {
  const Sketch& asked = options_of(part.call);
  const double cells = asked.cells_per_key * expected_blocks(part) *
                       std::min(static_cast<double>(asked.block), std::max(part.places, 1.0));
  return sent(expected_map(part) + cells * static_cast<double>(bytes_of(Cells::F64)), part.size);
}

constexpr int map_rounds = 2;
int ring_rounds(Rank size) { return 2 * (size - 1); }

int rounds_beside_map(Rank size) { return std::max(map_rounds, ring_rounds(size)); }

int count_sketch_rounds(const ExpectedPart& part) {
  if (part.size == 1) return 0;
  return expected_bytes_of_sketch(part) > 0 ? rounds_beside_map(part.size) : map_rounds + ring_rounds(part.size);
}
int peel_rounds(const ExpectedPart& part) { return part.size == 1 ? 0 : rounds_beside_map(part.size); }

}  // namespace

constexpr Predictions of_count_sketch = {.bytes = count_sketch_bytes, .rounds = count_sketch_rounds};
constexpr Predictions of_compaction = {.bytes = compaction_bytes};
constexpr Predictions of_peel = {.bytes = peel_bytes, .rounds = peel_rounds};

kernels::SketchShape shape_of(const PartView& part) {
  const Stage stage = form_of(part.part).stage;
  const Sketch& asked = options_of(part.call);
  const bool peels = stage == Stage::Peel || stage == Stage::Left;
  kernels::SketchShape shape = shape_of(asked, peels ? rows_to_peel : asked.rows, arguments_of(part.part));
  shape.block = std::min(shape.block, std::max<std::size_t>(part.call.count, 1));
  shape.signs_zeros = peels;
  return shape;
}
std::size_t cells_of(const PartView& part) { return shape_of(part).cells(); }

void tell_compression(const KernelCall& call, std::size_t reduced_elements) {
  const auto element = static_cast<double>(size_of(call.part.call.dtype));
  const std::size_t table = cells_of(call.part) * bytes_of(form_of(call.part.part).cells);
  const double bytes =
      static_cast<double>(map_bytes(call.part) + table) + static_cast<double>(reduced_elements) * element;
  if (bytes > 0) call.measures.tell(measure::compression, static_cast<double>(call.part.count) * element / bytes);
}

int rounds(const PartPlan& part, Rank size) {
  if (size == 1) return 0;
  switch (form_of(part).stage) {
    case Stage::Whole:
      return map_rounds + ring_rounds(size);
    case Stage::Map:
      return map_rounds;
    case Stage::Both:
    case Stage::Peel:
      return rounds_beside_map(size);
    case Stage::Sketch:
    case Stage::Rest:
    case Stage::Left:
      break;
  }
  return ring_rounds(size);
}

}  // namespace lacuna::sketching
