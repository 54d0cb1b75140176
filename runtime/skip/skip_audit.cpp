#include "runtime/skip/skip_audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/reduce.hpp"
#include "runtime/skip/skip_plan.hpp"

namespace lacuna::runtime {
Status check_audit(const Call& call) {
  const Skip& skip = call.options.skip;
  const auto refuse = [](std::string text) { return Status(Code::InvalidArgument, std::move(text)); };
  if (skip.audit == 0) return {};
  if (!skip.state) return refuse("skip.audit needs a skip.state, which counts the runs and keeps the error");
  if (skip.audit_samples == 0) return refuse("skip.audit_samples is 0, must be at least 1");
  if (call.collective != Collective::Allreduce || skip.gather_steps > 0) {
    return refuse("skip.audit: only of an allreduce whose results are equal on all ranks");
  }
  if (!is_integer(call.dtype)) return {};
  return refuse(fmt::format("skip.audit of {}: must be of floating point", to_string(call.dtype)));
}

void plan_audit(Run& run) {
  const Skip& skip = run.call.options.skip;
  run.audited = skip.audit > 0 && skip.state->runs % skip.audit == 0 && run.skips() && run.call.count > 0;
  if (!run.audited) return;
  run.state_run = skip.state->runs;
  if (run.plan.parts.empty()) {
    add_shares({.data = {0, run.call.count},
                .skip_steps = run.skip_steps,
                .gather_steps = run.gather_steps,
                .feedback = run.feedback},
               run.parts, run.plan);
  }
  const std::size_t samples = std::min(skip.audit_samples, run.call.count), width = size_of(run.call.dtype);
  run.plan.parts.push_back({.data = {0, samples}, .audits = true});
  run.parts = static_cast<std::uint32_t>(run.plan.parts.size());
  run.sample.resize(samples * width);
  const auto* input = static_cast<const std::byte*>(run.call.input);
  for (std::size_t i = 0; i < samples; ++i) {
    std::memcpy(run.sample.data() + i * width, input + boundary(i, run.call.count, samples) * width, width);
  }
}

void load_sample(ActivePart& part) { std::memcpy(part.packed, part.run->sample.data(), part.run->sample.size()); }

void store_sample(const ActivePart& part) {
  std::memcpy(part.run->sample.data(), part.packed, part.run->sample.size());
}

SkipAudit compare_with_sample(const Run& run) {
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
  return {.samples = samples,
          .relative_error = over(std::sqrt(distance), std::sqrt(dense_square), 0),
          .cosine = over(product, std::sqrt(dense_square) * std::sqrt(skipped_square), 1)};
}

}  // namespace lacuna::runtime
