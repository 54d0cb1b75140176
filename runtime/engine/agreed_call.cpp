#include "runtime/engine/agreed_call.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/engine/tables.hpp"
#include "runtime/graph/frame.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::runtime {
AgreedCall agreed_call(const CollectiveRun& run) {
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
  if (agreed.reduction == Reduction::Own) agreed.own = call.own.id;
  if (has_root(call.collective)) agreed.root = call.root;
  return agreed;
}

namespace {

bool are_alike(const PartsAlike& known, const PartPlan& part) {
  return known.structure == part.structure && known.is_dense == part.is_dense() && known.program == part.program &&
         known.arguments == part.arguments && known.stretches == part.stretches &&
         known.offset + known.count == part.data.offset;
}

void show_parts(const Plan& plan, AgreedMethod& agreed) {
  PartsAlike last;
  for (const PartPlan& part : plan.parts) {
    if (last.parts > 0 && are_alike(last, part)) {
      last.count += part.data.count;
      ++last.parts;
    } else {
      last = {part.structure, part.is_dense(), part.program, part.arguments, part.data.offset, part.data.count, 1,
              part.stretches};
      ++agreed.kinds_of_parts;
    }
    if (agreed.kinds_of_parts <= agreed.first_parts.size()) agreed.first_parts[agreed.kinds_of_parts - 1] = last;
  }
}

std::string text_of(const PartsAlike& parts) {
  std::string text = fmt::format("[{}, {})", parts.offset, parts.offset + parts.count);
  const std::string parameters = parts.structure.parameters.text();
  if (!parameters.empty()) text += fmt::format(" with {}", parameters);
  if (parts.is_dense) text += " dense";
  if (parts.structure.frame) text += fmt::format(" with {}", parts.structure.frame->name);
  if (!parts.arguments.are_defaults()) text += fmt::format(" given {}", parts.arguments.text());
  if (parts.stretches > 0) text += fmt::format(" of {}", count_of(parts.stretches, "stretch"));
  if (parts.program) text += fmt::format(" by {}", parts.program->name);
  if (parts.parts > 1) text += fmt::format(" in {} parts", parts.parts);
  return text;
}

std::string text_of_parts(const AgreedMethod& method) {
  const std::size_t shown = std::min<std::size_t>(method.kinds_of_parts, method.first_parts.size());
  std::string text;
  for (std::size_t i = 0; i < shown; ++i)
    text += fmt::format("{}{}", i == 0 ? ": " : ", ", text_of(method.first_parts[i]));
  return method.kinds_of_parts > shown ? text + " ..." : text;
}

}  // namespace

AgreedMethod agreed_method(const CollectiveRun& run) {
  const auto& parts = run.plan.parts;
  AgreedMethod agreed{.plan = run.plan.digest(), .state_run = run.state_run};
  if (is_on(run.call.options.method)) {
    agreed.method = run.call.options.method;
    agreed.lists_output = run.call.output_entries.places != nullptr;
  }
  agreed.dense = static_cast<std::uint32_t>(
      std::count_if(parts.begin(), parts.end(), [](const PartPlan& part) { return !part.beside && part.is_dense(); }));
  if (run.plan.draws) agreed.drawn = run.sampler;
  show_parts(run.plan, agreed);
  return agreed;
}

void add(Digest& digest, const AgreedCall& call) {
  const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
  digest
      .add(word(call.algorithm->collective) | word(call.dtype) << 8 | word(call.reduction) << 16 |
           word(call.parts) << 24 | word(call.root) << 40)
      .add(call.table);
  if (call.reduction == Reduction::Own) digest.add(call.own);
}

void add(Digest& digest, const AgreedMethod& method) {
  digest.add(method.method.digest()).add(method.plan);
  if (method.drawn) digest.add(method.drawn->seed).add(method.drawn->key).add(method.drawn->draw);
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
  if (call.reduction == Reduction::Own) text += fmt::format(" {}", call.own);
  if (has_root(collective)) text += fmt::format(" root {}", call.root);
  if (call.parts > 1) text += fmt::format(" in {} parts", call.parts);
  return text;
}

std::string text_of(const AgreedMethod& method, std::span<const double> planned) {
  std::string text, measures;
  if (method.method) text = fmt::format(" with {}", method.method.text());
  if (method.lists_output) text += " to a list of entries";
  const MeasureTable table = method.method ? method.method.method()->measures : MeasureTable();
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (planned[i] == 0) continue;
    measures += fmt::format("{}{} {}", measures.empty() ? "" : ", ", table[i]->name, planned[i]);
  }
  if (!measures.empty()) text += fmt::format(" ({})", measures);
  if (method.dense > 0) text += fmt::format(", {} of the parts dense", method.dense);
  if (method.state_run > 0) text += fmt::format(", run {} of its state", method.state_run);
  if (method.drawn) {
    text += fmt::format(", seed {} key {} draw {}", method.drawn->seed, method.drawn->key, method.drawn->draw);
  }
  return text + fmt::format(", plan {:016x}", method.plan) + text_of_parts(method);
}

}  // namespace lacuna::runtime
