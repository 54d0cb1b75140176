#include <fmt/format.h>

#include "runtime/communicator.hpp"
#include "runtime/tables.hpp"

namespace lacuna::runtime {

void Communicator::keep_record(const Run& run) {
  const AgreedLengths lengths = agreed_lengths(run.call);
  records_[slot_of(run.number)] = {.number = run.number,
                                   .digest = run.digest,
                                   .algorithm = run.algorithm,
                                   .count = lengths.count,
                                   .table = static_cast<std::uint32_t>(lengths.digest),
                                   .draw = run.sampler.draw,
                                   .root = run.call.root,
                                   .skip_steps = run.skip_steps,
                                   .dtype = run.call.dtype,
                                   .reduction = run.call.reduction,
                                   .skip_mode = run.call.options.skip.mode};
}

std::string Communicator::text_of(const Record& record) {
  const Collective collective = record.algorithm->collective;
  std::string text = fmt::format("{} {}", to_string(collective), record.algorithm->name);
  if (!moves_data(collective)) return text;
  text += fmt::format(" {}", to_string(record.dtype));
  const Lengths lengths = traits_of(collective).lengths;
  if (lengths == Lengths::Equal) text += fmt::format(" count {}", record.count);
  if (lengths == Lengths::Agreed) text += fmt::format(" blocks of {} (table {:08x})", record.count, record.table);
  if (traits_of(collective).reduces) text += fmt::format(" {}", to_string(record.reduction));
  if (has_root(collective)) text += fmt::format(" root {}", record.root);
  if (record.skip_steps > 0) text += fmt::format(" skip {} {}", record.skip_steps, to_string(record.skip_mode));
  if (record.skip_steps > 0 && record.skip_mode != SkipMode::Static) text += fmt::format(" draw {}", record.draw);
  return text;
}

/// What the run waits for: its oldest started step that has not ended, a receive if there is one.
std::string Communicator::text_of(const Run& run) const {
  if (run.kind != RunKind::Collective) return text_of_message(run);
  const std::string text = fmt::format("call {} ({})", run.number, text_of(records_[slot_of(run.number)]));
  std::string waits_for_send;
  for (const auto& part : run.active) {
    for (StepId id = 0; id < part->graph->steps().size(); ++id) {
      const Step& step = part->graph->steps()[id];
      const StepState& state = part->states[id];
      if (!state.started || state.ended) continue;
      const Rank peer = part->process_at(step.peer);
      if (step.receives()) {
        return text + fmt::format(", part {} step {}: {} of {} bytes from rank {} are missing", part->number, id,
                                  state.bytes - state.consumed, state.bytes, peer);
      }
      if (waits_for_send.empty()) {
        waits_for_send =
            fmt::format(", part {} step {}: rank {} has not taken what was sent to it", part->number, id, peer);
      }
    }
  }
  return text + waits_for_send;
}

std::optional<Watched::Posted> Communicator::posted(std::uint32_t run) const {
  const Record& record = records_[slot_of(run)];
  if (static_cast<std::int32_t>(run - next_run_) >= 0) return std::nullopt;
  if (record.number != run) return Watched::Posted{};
  return Watched::Posted{record.digest, text_of(record)};
}

}  // namespace lacuna::runtime
