#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "algorithms/skip/importance.hpp"
#include "algorithms/skip/skipping.hpp"
#include "kernels/elements.hpp"
#include "runtime/values/region.hpp"

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

void keep_audit(MethodState& state, const SkipAudit& audit) {
  if (audit_of(state).run >= audit.run) return;
  const std::array values = {static_cast<double>(audit.run), static_cast<double>(audit.samples), audit.relative_error,
                             audit.cosine};
  StateArray& array = state.array(audit_array, Dtype::F64, values.size(), false);
  array.bytes.resize(sizeof values);
  std::memcpy(array.bytes.data(), values.data(), sizeof values);
}

SkipAudit compare_with_sample(const Ended& run) {
  const Call& call = run.call;
  const std::size_t samples = run.sample.size() / size_of(call.dtype);
  const auto* output = static_cast<const std::byte*>(call.output);
  double distance = 0, dense_square = 0, skipped_square = 0, product = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const double dense = kernels::load_number(call.dtype, run.sample.data(), i);
    const double skipped = kernels::load_number(call.dtype, output, boundary(i, call.count, samples));
    distance += (skipped - dense) * (skipped - dense);
    dense_square += dense * dense;
    skipped_square += skipped * skipped;
    product += dense * skipped;
  }
  const bool equal = distance == 0;
  const auto over = [equal](double a, double b, double otherwise) {
    return b != 0 ? a / b : equal ? otherwise : std::numeric_limits<double>::quiet_NaN();
  };
  return {.run = run.state_run,
          .samples = samples,
          .relative_error = over(std::sqrt(distance), std::sqrt(dense_square), 0),
          .cosine = over(product, std::sqrt(dense_square) * std::sqrt(skipped_square), 1)};
}

void skip_ended(const Ended& run, MethodNumbers& numbers) {
  const Call& call = run.call;
  each_automatic(call, [&](const SkipSegment& segment) {
    const auto* output = static_cast<const std::byte*>(call.output) + segment.offset * size_of(call.dtype);
    skip_of(call).importance->ended(segment.key, run.run, call.dtype, run.well ? output : nullptr, segment.count);
  });
  if (!run.well || run.sample.empty()) return;
  const SkipAudit audit = compare_with_sample(run);
  keep_audit(*call.options.state, audit);
  if (!std::isfinite(audit.relative_error)) return;
  numbers[static_cast<std::size_t>(SkipNumber::Audits)] = 1;
  numbers[static_cast<std::size_t>(SkipNumber::AuditError)] = audit.relative_error;
}

}  // namespace lacuna
