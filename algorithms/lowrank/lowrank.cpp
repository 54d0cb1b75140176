#include <bit>
#include <cmath>

#include "algorithms/lowrank/steps.hpp"
#include "algorithms/phases/ring_phases.hpp"
#include "algorithms/phases/sparse.hpp"
#include "algorithms/phases/stopwatch.hpp"
#include "kernels/backend.hpp"
#include "runtime/values/digest.hpp"

namespace lacuna::factoring {
namespace {

kernels::MatrixShape shape_of(const PartView& part) { return factoring::shape_of(options_of(part.call), part.count); }
std::size_t left_elements(const PartView& part) { return shape_of(part).rank * shape_of(part).rows(); }
std::size_t right_elements(const PartView& part) { return shape_of(part).rank * shape_of(part).columns; }
std::size_t three(const PartView&) { return 3; }

kernels::Source source(const Extent& from) { return {from.dtype, from.data, from.count}; }
kernels::Target target(const Extent& to) { return {to.dtype, to.data, to.count}; }
double* sums_at(const Extent& to) { return reinterpret_cast<double*>(to.data); }

/// What the left factor's vectors, which are 1 long, are scaled by, so that the products of a matrix with them are no
/// larger than its elements. It is a power of two, so that it changes no bit of a result.
double scale_of_left(const PartView& part) {
  return std::exp2(-((static_cast<int>(std::bit_width(shape_of(part).rows())) + 1) / 2));
}
/// The product of such a left factor with the right one that comes of it.
kernels::Factors factors_of(const PartView& part, const Extent& left, const Extent& right) {
  const double scale = scale_of_left(part);
  return {shape_of(part), left.data, right.data, 1 / (scale * scale)};
}

/// Draws vectors of the right factor where there are none: in the first run, and where the last sum had fewer. Scales
/// them so that the products of a matrix with them are no larger than its elements.
struct DrawMissing {
  static constexpr std::string_view name = "draw missing";
  Write right, sums;

  Status operator()(const KernelCall& call) const {
    const Sampler& sampler = call.part.call.options.state->sampler;
    const kernels::RandomStream random{.key = Digest().add(sampler.seed).add(sampler.key).value(),
                                       .draw = call.part.state_run};
    const kernels::MatrixShape shape = shape_of(call.part);
    const double most = 1 / static_cast<double>(std::bit_ceil(shape.columns));
    call.backend.draw_missing(shape.rank, random, most, target(*right), sums_at(*sums));
    return {};
  }
};

struct MultiplyByRight {
  static constexpr std::string_view name = "multiply by right";
  Read matrix, right;
  Write left;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::multiply_time);
    call.backend.multiply_by_right(shape_of(call.part), source(*matrix), right->data, left->data);
    return {};
  }
};

struct Orthonormalize {
  static constexpr std::string_view name = "orthonormalize";
  Write left, sums;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::orthonormalize_time);
    call.backend.orthonormalize(shape_of(call.part).rank, target(*left), sums_at(*sums));
    call.backend.copy({.multiplier = scale_of_left(call.part)}, target(*left), left->data);
    return {};
  }
};

struct MultiplyByLeft {
  static constexpr std::string_view name = "multiply by left";
  Read matrix, left;
  Write right;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::multiply_time);
    call.backend.multiply_by_left(shape_of(call.part), source(*matrix), left->data, right->data);
    return {};
  }
};

/// Writes the product of the factors of the sum, or of the mean.
struct WriteProduct {
  static constexpr std::string_view name = "write product";
  Read left, right;
  Write output;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::decode_time);
    const kernels::Target to = target(*output);
    call.backend.multiply_factors(factors_of(call.part, *left, *right), kernels::ProductUse::Replaces, to);
    call.backend.copy(scale_of_scaled_terms(call.part.call.reduction, call.part.size), to, to.data);
    return {};
  }
};

/// Takes what this rank has contributed from its residual: the product of the left factor and its own right one. The
/// sum of these over all ranks is the result.
struct TakeContributed {
  static constexpr std::string_view name = "take contributed";
  Read left, right;
  Write residual;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, measure::decode_time);
    call.backend.multiply_factors(factors_of(call.part, *left, *right), kernels::ProductUse::Subtracts,
                                  target(*residual));
    return {};
  }
};

/// Adds up the factors of all ranks around a ring, in an order that does not depend on the rank.
void sum_factors(GraphBuilder& g, const Region& own, const Region& sum) {
  const Line ring = whole_ring(g);
  const auto piece = [&](const Region& factor, Rank i) { return sparse::piece_of(factor, i, g.size()); };
  ring_reduce_scatter(
      g, ring, [&](Rank i) { return piece(own, i); }, [&](Rank, Rank i) { return piece(sum, i); });
  ring_allgather(g, ring, [&](Rank i) { return piece(sum, i); });
}

void build(GraphBuilder& g) {
  const bool feedback = g.parameters<Form>().feedback;
  Region matrix = g.input();
  if (feedback) {
    matrix = g.buffer({.role = Role::State, .name = residual_array});
    g.reduce(matrix, g.input());
  }
  const Region right =
      g.buffer({.role = Role::State, .capacity = right_elements, .name = right_factor_array, .own = false});
  const Region left = g.buffer({.capacity = left_elements}), own_right = g.buffer({.capacity = right_elements});
  const Region sums = g.buffer({.element = Dtype::F64, .capacity = three});
  g.kernel(DrawMissing{.right = right, .sums = sums});
  g.kernel(MultiplyByRight{.matrix = matrix, .right = right, .left = left});
  sum_factors(g, left, left);
  g.kernel(Orthonormalize{.left = left, .sums = sums});
  g.kernel(MultiplyByLeft{.matrix = matrix, .left = left, .right = own_right});
  sum_factors(g, own_right, right);
  g.kernel(WriteProduct{.left = left, .right = right, .output = g.output()});
  if (feedback) g.kernel(TakeContributed{.left = left, .right = own_right, .residual = matrix});
}

}  // namespace

// M is the sum of all ranks' matrices, of r rows and c columns, and Q the right factor of the last run, of k vectors.
// Each rank multiplies its own matrix by Q, and the products are summed up: P = M Q. All ranks make the vectors of P
// orthonormal, in the same order and so to the same bits. Each multiplies its transposed matrix by P, and the products
// are summed up: Q = transposed M times P. The result is P times the transposed Q.
// It takes 4(P-1) rounds on P ranks. Each rank sends 2(P-1)/P times k (r + c) elements. Source: Vogels, Karimireddy,
// Jaggi: PowerSGD (2019), algorithm 1. Its algorithm 2 is the feedback.
constexpr Algorithm allreduce = {
    .collective = Collective::Allreduce,
    .name = "lowrank",
    .symmetric = false,
    .build = build,
    .parameters = &parameter_set<Form>,
};

}  // namespace lacuna::factoring
