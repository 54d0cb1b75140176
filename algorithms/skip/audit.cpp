#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "algorithms/phases/packing.hpp"
#include "algorithms/skip/skipping.hpp"
#include "kernels/backend.hpp"
#include "kernels/elements.hpp"
#include "runtime/graph/plan.hpp"

namespace lacuna {

bool audit_is_due(const Call& call) {
  const Skip& skip = skip_of(call);
  return skip.audit > 0 && (call.options.state->runs + 1) % skip.audit == 0;
}

SkipAudit audit_of(const MethodState& state) {
  const StateArray* array = state.find(audit_array);
  if (!array) return {};
  std::array<double, audit_values> values{};
  std::memcpy(values.data(), array->bytes.data(), std::min(array->bytes.size(), sizeof values));
  return {.run = static_cast<std::uint64_t>(values[0]),
          .samples = static_cast<std::uint64_t>(values[1]),
          .relative_error = values[2],
          .cosine = values[3]};
}

namespace {

/// Returns the audit of all samples together: one relative error and one cosine.
SkipAudit difference(const KernelCall& call, const Extent& dense, const Extent& skipped) {
  kernels::Comparison sums;
  call.backend.compare({dense.dtype, dense.data, dense.count}, skipped.data, &sums);
  const auto over = [&](double a, double b, double otherwise) {
    return b != 0 ? a / b : sums.distance == 0 ? otherwise : std::numeric_limits<double>::quiet_NaN();
  };
  return {.run = call.part.state_run,
          .samples = dense.count,
          .relative_error = over(std::sqrt(sums.distance), std::sqrt(sums.a_squares), 0),
          .cosine = over(sums.products, std::sqrt(sums.a_squares) * std::sqrt(sums.b_squares), 1)};
}

std::mutex last_audits;  // calls on one state may be under way together

/// The audit of the latest run stays in the state, whatever the order in which calls end.
struct CompareSamples {
  static constexpr std::string_view name = "compare samples";
  Read dense, skipped;
  Write last;

  Status operator()(const KernelCall& call) const {
    const SkipAudit audit = difference(call, *dense, *skipped);
    const std::array values = {static_cast<double>(audit.run), static_cast<double>(audit.samples), audit.relative_error,
                               audit.cosine};
    std::unique_lock lock(last_audits);
    if (kernels::load_number(Dtype::F64, last->data, 0) < values[0]) {
      std::memcpy(last->data, values.data(), sizeof values);
    }
    lock.unlock();
    if (!std::isfinite(audit.relative_error)) return {};
    call.measures.tell(skip_measure::audits, 1);
    call.measures.tell(skip_measure::audit_error, audit.relative_error);
    return {};
  }
};

constexpr Region input = GraphBuilder::all_of(Buffer::Input), output = GraphBuilder::all_of(Buffer::Output);

Region sample_memory(GraphBuilder& g) {
  return g.buffer(
      {.role = Role::Run, .capacity = [](const PartView& part) { return samples_of(part.call); }, .name = "samples"});
}

}  // namespace

std::size_t samples_of(const Call& call) { return std::min(skip_of(call).audit_samples, call.count); }

extern const Frame sample_frame = {
    .name = "samples",
    .replaces_both = true,
    .before = [](GraphBuilder& g) { g.replace_both(sample_memory(g).buffer); },
};

extern const Algorithm take_sample = {
    .collective = Collective::Allreduce,
    .name = "take_sample",
    .summary = "no message",
    .symmetric = true,
    .build = [](GraphBuilder& g) { g.kernel(GatherStretches{.from = input, .to = sample_memory(g)}); },
};

extern const Algorithm compare_with_sample = {
    .collective = Collective::Allreduce,
    .name = "compare_with_sample",
    .summary = "no message",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          const Region last = g.buffer({.role = Role::State,
                                        .element = Dtype::F64,
                                        .capacity = [](const PartView&) { return audit_values; },
                                        .name = audit_array,
                                        .own = false,
                                        .memory = MemoryKind::Host});
          const Region skipped = g.buffer({});
          g.kernel(GatherStretches{.from = output, .to = skipped});
          g.kernel(CompareSamples{.dense = sample_memory(g), .skipped = skipped, .last = last});
        },
};

}  // namespace lacuna
