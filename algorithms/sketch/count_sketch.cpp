#include <algorithm>
#include <cmath>

#include "algorithms/phases/ring_phases.hpp"
#include "algorithms/phases/sparse.hpp"
#include "algorithms/phases/sparse_kernels.hpp"
#include "algorithms/phases/stopwatch.hpp"
#include "algorithms/sketch/steps.hpp"

namespace lacuna::sketching {
namespace {

constexpr Dtype dtype_of(Cells cells) {
  return cells == Cells::F32 ? Dtype::F32 : cells == Cells::F64 ? Dtype::F64 : Dtype::I64;
}

struct SketchBlocks {
  static constexpr std::string_view name = "sketch";
  Read input, map;
  Write table;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::encode_time);
    call.backend.sketch(shape_of(call.part), {input->dtype, input->data, input->count}, map->data,
                        {table->dtype, table->data, table->count});
    call.measures.tell(measure::cells, static_cast<double>(table->count));
    return {};
  }
};

/// The factor of estimates. Without feedback it is 1, and estimates have the right mean. With feedback the residual is
/// to keep less than there was. An estimate that a rank's own sketch gives of its x has the mean x and, over all
/// elements, the squared error w |x|^2, for w elements over cells. The cells are those of one row if the estimate is a
/// median, because the median of the sums decides which row counts. So a factor f leaves ((1 - f)^2 + f^2 w) |x|^2. It
/// is less than |x|^2 if f < 2 / (1 + w), and least at 1 / (1 + w). A power of two near that keeps integers exact.
double factor_of(const PartView& part, std::uint64_t elements) {
  const Sketch& asked = options_of(part.call);
  if (!asked.feedback) return 1;
  const kernels::SketchShape shape = shape_of(part);
  const std::size_t rows = asked.estimate == SketchEstimate::Mean ? 1 : shape.rows;
  const double share = static_cast<double>(elements * rows) / static_cast<double>(shape.cells());
  return std::exp2(std::floor(std::log2(std::sqrt(2.0) / (1 + share))));
}

/// Decodes the sum of all sketches, unless the union turns out to be no longer than the sketch, or the sketch holds an
/// infinity or a NaN, which would reach all elements that share the cell, and stay in residuals.
struct Decode {
  static constexpr std::string_view name = "decode";
  Read table, map;
  Use elements;
  Write output;
  Define decoded;    ///< 1, or 0 if nothing was decoded
  Read own_table{};  ///< with feedback
  Write residual{};  ///< with feedback

  Status operator()(const KernelCall& call) const {
    if (!sketch_is_shorter(call.part.call, arguments_of(call.part.part), *elements)) return {};
    const Stopwatch watch(call, measure::decode_time);
    double squares = 0;
    call.backend.sum_of_powers({table->dtype, table->data, table->count}, 2, 1, &squares);
    if (!std::isfinite(squares)) return {};
    *decoded = 1;
    const double factor = factor_of(call.part, *elements);
    kernels::Decoding with{
        .map = map->data, .table = table->data, .scale = scale_of_all(call.part.call.reduction, call.part.size)};
    const Sketch& asked = options_of(call.part.call);
    with.estimate = asked.estimate == SketchEstimate::Mean ? kernels::Estimate::Mean : kernels::Estimate::Median;
    with.scale.multiplier = factor;
    if (residual) {
      with.own_table = own_table->data;
      with.residual = residual->data;
      with.contributed = factor;
    }
    call.backend.decode_sketch(shape_of(call.part), with, {output->dtype, output->data, output->count});
    tell(call, factor, std::sqrt(squares / static_cast<double>(asked.rows)) / with.scale.divisor);
    return {};
  }

  /// The sum of the squares of a row's cells is an estimate of the squared norm of the sum (Alon, Matias, Szegedy: The
  /// space complexity of approximating the frequency moments, 1996). An element gets the squares of the elements with
  /// which it shares a cell. So all elements together get the squared norm, times the union over the cells.
  void tell(const KernelCall& call, double factor, double norm) const {
    const double count = static_cast<double>(*elements), share = count / static_cast<double>(table->count);
    const double relative = std::sqrt((1 - factor) * (1 - factor) + factor * factor * share);
    call.measures.tell(measure::union_elements, count);
    call.measures.tell(measure::decoded, count);
    call.measures.tell(measure::inexact, 1);
    call.measures.tell(measure::relative_error, relative);
    call.measures.tell(measure::error, relative * norm);
    tell_compression(call, 0);
  }
};

/// Decodes, and decides by two values whether the elements of the union must follow.
void decode(GraphBuilder& g, const Region& input, const Tables& tables, const Blocks& blocks) {
  Decode decode{
      .table = tables.sum, .map = blocks.map, .elements = blocks.elements, .output = g.output(), .decoded = g.agreed()};
  if (form_of(g).feedback) {
    decode.own_table = tables.own;
    decode.residual = input;
  }
  const Value decoded = decode.decoded.given();
  g.kernel(std::move(decode));
  g.decide({blocks.elements, decoded});
}

void build_count_sketch(GraphBuilder& g) {
  const Stage stage = form_of(g).stage;
  if (stage == Stage::Whole || stage == Stage::Rest) return compact(g);
  const Region input = input_of(g), mine = find_blocks(g, input);
  const bool is_known = stage == Stage::Sketch;
  const Blocks blocks = count_blocks(g, is_known ? shared_map(g) : unite_maps(g, mine, true), !is_known);
  if (stage == Stage::Map) return g.decide({blocks.elements, blocks.count});
  decode(g, input, sketch_and_reduce(g, input, mine), blocks);
}

}  // namespace

Tables sketch_and_reduce(GraphBuilder& g, const Region& input, const Region& map) {
  const Form form = form_of(g);
  const BufferInfo room = {.element = dtype_of(form.cells), .capacity = cells_of};
  const Region own = g.buffer(room), sum = form.feedback ? g.buffer(room) : own;
  g.kernel(SketchBlocks{.input = input, .map = map, .table = own});
  const Line ring = whole_ring(g);
  const auto piece = [&](const Region& table, Rank i) { return sparse::piece_of(table, i, g.size()); };
  ring_reduce_scatter(
      g, ring, [&](Rank i) { return piece(own, i); }, [&](Rank, Rank i) { return piece(sum, i); });
  ring_allgather(g, ring, [&](Rank i) { return piece(sum, i); });
  return {own, sum};
}

std::uint64_t buckets_for(const Sketch& asked, double union_elements) {
  const double cells = asked.columns > 0 ? static_cast<double>(asked.columns)
                                         : asked.ratio * union_elements / static_cast<double>(asked.rows);
  const double buckets = std::clamp(std::floor(cells / static_cast<double>(asked.block)), 1.0, most_blocks);
  return static_cast<std::uint64_t>(buckets);
}

bool sketch_is_shorter(const Call& call, const Arguments& with, std::uint64_t union_elements) {
  const Sketch& asked = options_of(call);
  const std::size_t bytes = shape_of(asked, asked.rows, with).cells() * bytes_of(cells_for(call.dtype));
  return with.buckets > 0 && bytes < union_elements * size_of(call.dtype);
}

// A rank hashes the elements of its blocks to the cells of a table, with signs. The tables and the maps of the blocks
// are reduced at the same time, in rings and in 2 rounds. From the sum of the tables each rank estimates the elements
// of the union. Elements that share a cell disturb each other: of U elements in c cells, the error is the root of U/c
// times the norm. Each rank sends 2 (P-1)/P of the bytes of a table and of a map, in 2 (P-1) rounds. If the union is
// not longer than the table, `compaction` follows in place of the estimate. Source: Ge, Fu, Lai, Deng, Li: S2 Reducer:
// High-performance sparse communication to accelerate distributed deep learning (2021), whose table has one row and
// whose hashes stay the same.
constexpr Algorithm count_sketch = {
    .collective = Collective::Allreduce,
    .name = "count_sketch",
    .symmetric = false,
    .build = build_count_sketch,
    .parameters = &parameter_set<Form>,
};

}  // namespace lacuna::sketching
