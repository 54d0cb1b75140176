#include <fmt/format.h>

#include <algorithm>

#include "runtime/communicator/communicator.hpp"
#include "runtime/job/agreement.hpp"

namespace lacuna::runtime {
namespace {

/// What travels of a history: with it a message shows that its sender's calls were others, up to this one.
std::uint32_t folded(std::uint64_t history) { return static_cast<std::uint32_t>(history ^ history >> 32); }

}  // namespace

void Communicator::keep_record(Run& run) {
  Record& record = records_[slot_of(run.number)];
  record.number = run.number;
  record.call = agreed_call(run);
  if (named_ != run.algorithm) {
    named_ = run.algorithm;
    name_digest_ = Digest().add(named_->name);
  }
  Digest digest = name_digest_;
  add(digest, record.call);
  record.has_method = run.method != nullptr;
  if (run.method) {
    if (methods_asked_for_.empty()) methods_asked_for_.resize(records_.size());
    AgreedMethod& method = methods_asked_for_[slot_of(run.number)];
    method = agreed_method(run);
    add(digest, method);
  }
  record.digest = digest.value();
  record.history = history_.add(record.digest).value();
  run.digest = folded(record.history);
}

const Communicator::Record* Communicator::record_of(std::uint32_t number) const {
  const Record& record = records_[slot_of(number)];
  return record.number == number && record.call.algorithm && comes_before(number, next_run_) ? &record : nullptr;
}

std::string Communicator::text_of(const Record& record) const {
  const std::string text = runtime::text_of(record.call);
  return record.has_method ? text + runtime::text_of(methods_asked_for_[slot_of(record.number)]) : text;
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

Watched::Posted Communicator::told(std::uint32_t number) const {
  const Record* record = record_of(number);
  if (!record) return {};
  return {.digest = record->digest, .text = text_of(*record), .history = record->history};
}

std::optional<Watched::Posted> Communicator::posted(std::uint32_t number) const {
  if (!comes_before(number, next_run_)) return std::nullopt;
  Watched::Posted posted = told(number);
  for (std::uint32_t back = 1; back < calls_told && record_of(number - back); ++back) {
    posted.before.push_back(told(number - back));
  }
  return posted;
}

Reach Communicator::reach() const {
  return {.communicator = id_,
          .next_run = next_run_,
          .failed = !poison_.is_ok() || unfinished_ > 0,
          .last = *posted(next_run_ - 1)};
}

bool Communicator::may_be_of(std::uint32_t number, std::uint32_t digest) const {
  const Record* record = record_of(number);
  return !record || folded(record->history) == digest;
}

std::string Communicator::text_of_difference(Rank from, std::uint32_t number) const {
  return fmt::format("rank {} asked for something else than rank {}, which posted {}, or they differed before it", from,
                     executor_.rank(), told(number).text);
}

}  // namespace lacuna::runtime
