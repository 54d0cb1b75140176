#include "runtime/communicator/agreed_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/engine/tables.hpp"

namespace lacuna::runtime {
namespace {

std::uint64_t digest_of(const Plan& plan) {
  Digest digest;
  for (const PartPlan& part : plan.parts) {
    digest.add(part.data.offset)
        .add(part.data.count)
        .add(std::uint64_t{part.packed} << 32 | static_cast<std::uint32_t>(part.skip_steps))
        .add(static_cast<std::uint64_t>(part.gather_steps));
  }
  for (const Stretch& stretch : plan.packed) digest.add(stretch.offset).add(stretch.count);
  return digest.value();
}

}  // namespace

AgreedCall agreed_call(const Run& run) {
  const Call& call = run.call;
  if (!moves_data(call.collective)) return {.algorithm = run.algorithm};
  const CollectiveTraits& traits = traits_of(call.collective);
  const AgreedLengths lengths = agreed_lengths(call);
  AgreedCall agreed{.algorithm = run.algorithm,
                    .count = lengths.count,
                    .table = lengths.digest,
                    .parts = run.parts,
                    .dtype = call.dtype};
  if (traits.reduces) agreed.reduction = call.reduction;
  if (has_root(call.collective)) agreed.root = call.root;
  return agreed;
}

AgreedSkip agreed_skip(const Run& run) {
  const Skip& skip = run.call.options.skip;
  AgreedSkip agreed;
  if (!run.plan.parts.empty()) {
    agreed.plan = digest_of(run.plan);
    agreed.dense = static_cast<std::uint32_t>(
        std::count_if(run.plan.parts.begin(), run.plan.parts.end(),
                      [](const PartPlan& part) { return part.skip_steps == 0 && part.gather_steps == 0; }));
  }
  if (!skip.is_on()) return agreed;
  agreed.is_on = true;
  agreed.reversed = skip.reversed;
  agreed.keep = skip.keep;
  agreed.feedback = skip.feedback;
  agreed.mode = skip.mode;
  agreed.scale = skip.scale;
  agreed.steps = run.skip_steps;
  agreed.gather_steps = run.gather_steps;
  if (skip.scale == SkipScale::Factor) agreed.factor = skip.factor;
  agreed.audit = skip.audit;
  if (skip.audit > 0) agreed.audit_samples = skip.audit_samples;
  agreed.drawn = run.sampler;
  return agreed;
}

void add(Digest& digest, const AgreedCall& call) {
  const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
  digest
      .add(word(call.algorithm->collective) | word(call.dtype) << 8 | word(call.reduction) << 16 |
           word(call.parts) << 24 | word(call.root) << 40)
      .add(call.table);
}

void add(Digest& digest, const AgreedSkip& skip) {
  const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
  digest.add(word(static_cast<std::uint32_t>(skip.steps)) << 32 | static_cast<std::uint32_t>(skip.gather_steps))
      .add(word(skip.mode) << 16 | word(skip.scale) << 8 | word(skip.is_on) << 3 | word(skip.reversed) << 2 |
           word(skip.keep) << 1 | word(skip.feedback))
      .add(std::bit_cast<std::uint64_t>(skip.factor))
      .add(skip.plan);
  if (skip.audit > 0) digest.add(skip.audit).add(skip.audit_samples);
  if (skip.drawn != Sampler()) digest.add(skip.drawn.seed).add(skip.drawn.key).add(skip.drawn.draw);
}

std::string text_of(const AgreedCall& call) {
  const Collective collective = call.algorithm->collective;
  std::string text = fmt::format("{} {}", to_string(collective), call.algorithm->name);
  if (!moves_data(collective)) return text;
  text += fmt::format(" {}", to_string(call.dtype));
  const CollectiveTraits& traits = traits_of(collective);
  if (traits.lengths == Lengths::Equal) text += fmt::format(" count {}", call.count);
  if (traits.lengths == Lengths::Agreed) text += fmt::format(" blocks of {} (table {:016x})", call.count, call.table);
  if (traits.reduces) text += fmt::format(" {}", to_string(call.reduction));
  if (has_root(collective)) text += fmt::format(" root {}", call.root);
  if (call.parts > 1) text += fmt::format(" in {} parts", call.parts);
  return text;
}

std::string text_of(const AgreedSkip& skip) {
  std::string text;
  if (skip.plan != 0) text += fmt::format(", {} of them dense (plan {:016x})", skip.dense, skip.plan);
  if (!skip.is_on) return text;
  text += fmt::format(" skip {}", skip.steps);
  if (skip.gather_steps > 0) text += fmt::format(" gather_steps {}", skip.gather_steps);
  text += fmt::format(" {} {}", to_string(skip.mode), to_string(skip.scale));
  if (skip.scale == SkipScale::Factor) text += fmt::format(" {}", skip.factor);
  for (auto [given, name] :
       {std::pair(skip.reversed, " reversed"), {skip.keep, " keep"}, {skip.feedback, " feedback"}}) {
    if (given) text += name;
  }
  if (skip.audit > 0) text += fmt::format(" audit {} of {} samples", skip.audit, skip.audit_samples);
  if (skip.mode == SkipMode::Static) return text;
  return text + fmt::format(" seed {} key {} draw {}", skip.drawn.seed, skip.drawn.key, skip.drawn.draw);
}

}  // namespace lacuna::runtime
