#include "runtime/engine/run_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/engine/client.hpp"
#include "runtime/engine/posted.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::runtime {
namespace {

/// Returns the part of a history that messages carry. It shows a receiver whether its calls differ from the sender's,
/// up to this one.
std::uint32_t folded(std::uint64_t history) { return static_cast<std::uint32_t>(history ^ history >> 32); }

}  // namespace

RunTable::RunTable(std::uint32_t first, std::uint32_t most_calls, std::uint32_t most_messages)
    : most_calls_(most_calls),
      most_messages_(most_messages),
      runs_(std::bit_ceil(most_calls)),
      next_run_(first),
      records_(runs_.size()) {}

Status RunTable::why_no_call() const {
  if (unfinished_ < most_calls_) {
    const CollectiveRun* earlier = runs_[slot_of(next_run_)];
    return {Code::Busy,
            fmt::format("call {} has not ended, and {} started after it; at most {} may be "
                        "(LACUNA_MAX_RUNS)",
                        earlier->number, count_of(next_run_ - earlier->number - 1, "call"), runs_.size() - 1)};
  }
  return {Code::Busy,
          fmt::format("unfinished calls: {}; at most {} are allowed (LACUNA_MAX_RUNS)", unfinished_, most_calls_)};
}

Status RunTable::has_room_for_messages(std::size_t count) const {
  if (messages_.size() + count <= most_messages_) return {};
  const std::string more = count > 1 ? fmt::format(" and {} would be added", count) : "";
  return {Code::Busy, fmt::format("unfinished messages: {}{}; at most {} are allowed (LACUNA_MAX_MESSAGES)",
                                  messages_.size(), more, most_messages_)};
}

void RunTable::add_call(CollectiveRun& call) {
  if (!call.chains.empty()) chains_.resize(records_.size());
  if (call.method && unsent_.empty()) unsent_.resize(records_.size());
  call.number = next_run_;
  keep_record(call);
  runs_[slot_of(call.number)] = &call;
  ++unfinished_;
}

void RunTable::advance_to(std::uint32_t number, std::uint64_t history) {
  const std::lock_guard lock(told_);
  next_run_ = number;
  history_ = Digest(history);
}

void RunTable::add_message(MessageRun& message) {
  message.place = messages_.size();
  messages_.push_back(&message);
}

void RunTable::remove(CollectiveRun& call) {
  runs_[slot_of(call.number)] = nullptr;
  --unfinished_;
  if (!chains_.empty()) chains_[slot_of(call.number)].swap(call.chains);
  if (unsent_.empty()) return;
  std::swap(unsent_[slot_of(call.number)], call.unsent);
  call.unsent.clear();
}

void RunTable::remove(const MessageRun& message) {
  messages_[message.place] = messages_.back();
  messages_[message.place]->place = message.place;
  messages_.pop_back();
}

/// Notes what the run asks for. A run that is laid out asks for what its last start has asked for.
void RunTable::agree(CollectiveRun& run) {
  if (named_ != run.algorithm) {
    named_ = run.algorithm;
    name_digest_ = Digest().add(named_->name);
  }
  Digest digest = name_digest_;
  run.agreed = agreed_call(run);
  add(digest, run.agreed);
  run.agreed_digest = digest.value();
}

void RunTable::keep_record(CollectiveRun& run) {
  if (!run.laid_out) agree(run);
  Digest digest(run.agreed_digest);
  const std::lock_guard lock(told_);
  if (run.method) keep_method(run, digest);
  const std::uint64_t history = history_.add(digest.value()).value();
  run.digest = folded(history);
  Record& record = records_[slot_of(run.number)];
  record.number = run.number;
  record.digest = digest.value();
  record.history = history;
  record.call = run.agreed;
  record.has_method = run.method != nullptr;
  next_run_ = run.number + 1;
}

/// Keeps what the run's method asks for, and adds it to the digest. If it throws std::bad_alloc, nothing has changed.
void RunTable::keep_method(const CollectiveRun& run, Digest& digest) {
  const AgreedMethod method = agreed_method(run);
  const std::span<const MeasureCell> cells = run.plan.measures.cells();
  make_room_for_methods(cells.size());
  methods_asked_for_[slot_of(run.number)] = method;
  double* const values = planned_.data() + slot_of(run.number) * most_measures_;
  for (std::size_t i = 0; i < cells.size(); ++i) values[i] = run.plan.measures.value(i);
  add(digest, method);
}

/// Makes room for methods with so many measures. What was kept of earlier calls stays.
void RunTable::make_room_for_methods(std::size_t measures) {
  if (methods_asked_for_.empty()) methods_asked_for_.resize(records_.size());
  if (measures <= most_measures_) return;
  std::vector<double> roomier(records_.size() * measures);
  for (std::size_t slot = 0; slot < records_.size(); ++slot) {
    const auto values = planned_.begin() + static_cast<std::ptrdiff_t>(slot * most_measures_);
    std::copy_n(values, most_measures_, roomier.begin() + static_cast<std::ptrdiff_t>(slot * measures));
  }
  planned_ = std::move(roomier);
  most_measures_ = measures;
}

const RunTable::Record* RunTable::record_of(std::uint32_t number) const {
  const Record& record = records_[slot_of(number)];
  return record.number == number && record.call.algorithm && comes_before(number, next_run_) ? &record : nullptr;
}

std::string RunTable::text_of(const Record& record) const {
  const std::string text = runtime::text_of(record.call);
  if (!record.has_method) return text;
  return text + runtime::text_of(methods_asked_for_[slot_of(record.number)], planned(record.number));
}

/// Says what the run waits for: the oldest step that has started and not ended. Receives come before other steps.
std::string RunTable::text_of(const CollectiveRun& run) const {
  const std::string text = fmt::format("call {} ({})", run.number, text_of(records_[slot_of(run.number)]));
  std::string waits_for_send;
  for (const auto& part : run.active) {
    for (StepId id = 0; id < part.graph->steps().size(); ++id) {
      const Step& step = part.graph->steps()[id];
      const StepState& state = part.states[id];
      if (!state.started || state.ended) continue;
      if (step.meets()) {
        const auto missing = run.communicator->board()->missing(run.first_turn + part.number);
        if (missing.empty()) continue;
        return text + fmt::format(", part {} step {} misses the row of rank {} on the board", part.number, id,
                                  run.communicator->group().process_of(missing.front()));
      }
      if (!step.sends() && !step.receives()) {
        if (waits_for_send.empty()) waits_for_send = fmt::format(", part {} step {} computes", part.number, id);
        continue;
      }
      const Rank peer = part.process_at(step.peer);
      if (step.receives()) {
        return text + fmt::format(", part {} step {} misses {} of {}{} from rank {}", part.number, id,
                                  state.bytes - state.consumed, state.told ? "at most " : "",
                                  count_of(state.bytes, "byte"), peer);
      }
      if (waits_for_send.empty()) {
        waits_for_send =
            fmt::format(", part {} step {}: rank {} has not taken what was sent to it", part.number, id, peer);
      }
    }
  }
  return text + waits_for_send;
}

Posted RunTable::told(std::uint32_t number) const {
  const Record* record = record_of(number);
  if (!record) return {};
  return {.digest = record->digest, .text = text_of(*record), .history = record->history};
}

std::optional<Posted> RunTable::posted(std::uint32_t number) const {
  const std::lock_guard lock(told_);
  if (!comes_before(number, next_run_)) return std::nullopt;
  Posted posted = told(number);
  for (std::uint32_t back = 1; back < calls_told && record_of(number - back); ++back) {
    posted.before.push_back(told(number - back));
  }
  return posted;
}

bool RunTable::had_part(std::uint32_t number, std::uint32_t part) const {
  const Record* record = record_of(number);
  if (!record || part < record->call.parts) return true;
  const std::size_t slot = slot_of(number);
  return slot < chains_.size() && !chains_[slot].empty() &&
         part / record->call.parts < chains_[slot][part % record->call.parts].length;
}

bool RunTable::may_be_of(std::uint32_t number, std::uint32_t digest) const {
  const Record* record = record_of(number);
  return !record || folded(record->history) == digest;
}

}  // namespace lacuna::runtime
