#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/agreed_call.hpp"
#include "runtime/engine/posted.hpp"
#include "runtime/engine/run.hpp"
#include "runtime/values/digest.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Keeps the unfinished runs of a communicator, and what the last calls asked for, also after their end. It numbers the
/// calls. The first number is arbitrary, and numbers wrap around.
/// Thread rule: its owner locks. Only posted() may be called by any thread at any time.
class RunTable {
 public:
  RunTable(std::uint32_t first, std::uint32_t most_calls, std::uint32_t most_messages);

  /// Returns the number that the next call gets.
  std::uint32_t next() const { return next_run_; }
  /// Stands for all calls so far, and for their order.
  std::uint64_t history() const { return history_.value(); }
  /// The next call gets this number, and `history` stands for the calls before it, of which this process knows nothing.
  /// The number must not be that of an earlier call.
  void advance_to(std::uint32_t number, std::uint64_t history);
  /// Returns how many calls are unfinished.
  std::uint32_t calls() const { return unfinished_; }
  bool empty() const { return unfinished_ == 0 && messages_.empty(); }
  /// Returns the unfinished messages. When one ends, the last one takes its place.
  const std::vector<MessageRun*>& messages() const { return messages_; }
  /// Visits each unfinished call, in any order. The visitor may remove the call that it is given.
  template <class Visit>
  void each_call(Visit visit) const {
    for (std::size_t slot = 0; slot < runs_.size(); ++slot) {
      if (runs_[slot]) visit(*runs_[slot]);
    }
  }

  /// Returns ok, or why no call can be added now.
  Status has_room_for_call() const {
    return unfinished_ < most_calls_ && !runs_[slot_of(next_run_)] ? Status() : why_no_call();
  }
  /// Returns ok, or why so many messages can't be added now.
  Status has_room_for_messages(std::size_t count) const;
  /// Numbers a call that is about to begin, remembers what it asks for, and gives it its digest.
  void add_call(CollectiveRun& call);
  void add_message(MessageRun& message);
  /// Removes a run that has ended.
  void remove(CollectiveRun& call);
  void remove(const MessageRun& message);

  /// Returns the call of this number if it was posted and is unfinished, else null.
  CollectiveRun* find(std::uint32_t number) const {
    CollectiveRun* run = runs_[slot_of(number)];
    return run && run->number == number ? run : nullptr;
  }
  /// Was a call of this number posted whose request is still remembered?
  bool remembers(std::uint32_t number) const { return record_of(number) != nullptr; }
  /// May a message with this digest belong to the call of this number? This may be asked after the call's end too. The
  /// answer is yes if the call is forgotten.
  bool may_be_of(std::uint32_t number, std::uint32_t digest) const;
  /// Did this call, which has ended here, have a part of this number? The part may be one of the plan, or one that
  /// followed.
  bool had_part(std::uint32_t number, std::uint32_t part) const;
  /// Had this call, which has ended here, worked out that this message is empty and does not come?
  bool was_unsent(std::uint32_t number, Rank source, std::uint32_t index, std::uint32_t part) const {
    return !unsent_.empty() && record_of(number) && unsent_[slot_of(number)].has(source, index, part);
  }
  /// Is this a part of the call's plan, and not one that follows another?
  bool is_planned(std::uint32_t number, std::uint32_t part) const {
    const Record* record = record_of(number);
    return !record || part < record->call.parts;
  }
  /// Returns what was posted under this number. Its digest is 0 if that is forgotten.
  Posted told(std::uint32_t number) const;
  /// Returns what was posted under this number, with a digest of all calls up to this one. Returns nothing if no such
  /// call was posted. It waits only for a mutex that is never held long.
  std::optional<Posted> posted(std::uint32_t number) const;
  /// Returns a text that says what an unfinished call asks for and what it waits for.
  std::string text_of(const CollectiveRun& run) const;

 private:
  /// What the watch may ask about a call, also after its end.
  struct Record {
    std::uint32_t number = 0;
    std::uint64_t digest = 0;   ///< of what the call asks for
    std::uint64_t history = 0;  ///< stands for the call and all calls before it
    AgreedCall call;
    bool has_method = false;
  };

  Status why_no_call() const;
  void agree(CollectiveRun& run);
  void keep_record(CollectiveRun& run);
  void keep_method(const CollectiveRun& run, Digest& digest);
  void make_room_for_methods(std::size_t measures);
  /// Returns the values of the measures that the plan of this call has told.
  std::span<const double> planned(std::uint32_t number) const {
    return std::span(planned_).subspan(slot_of(number) * most_measures_, most_measures_);
  }
  /// Returns null if no such call was posted, or if it is forgotten.
  const Record* record_of(std::uint32_t number) const;
  std::string text_of(const Record& record) const;
  /// Returns where a call stands in runs_ and records_, whose size is a power of two.
  std::size_t slot_of(std::uint32_t number) const { return number & (runs_.size() - 1); }

  const std::uint32_t most_calls_, most_messages_;
  std::uint32_t unfinished_ = 0;            // calls
  std::vector<CollectiveRun*> runs_;        // unfinished calls, by slot
  std::vector<MessageRun*> messages_;       // unfinished ones
  std::vector<std::vector<Chain>> chains_;  // of ended calls, by slot; empty until a call has parts that follow others
  std::vector<Unsent> unsent_;              // of ended calls, by slot; empty until a call has a method
  Digest history_;                          // of all calls so far
  const Algorithm* named_ = nullptr;        // the algorithm that name_digest_ is of
  Digest name_digest_;

  // The owner changes the next members under this mutex too, so that posted() needs no other.
  mutable std::mutex told_;
  std::uint32_t next_run_;
  std::vector<Record> records_;
  std::vector<AgreedMethod> methods_asked_for_;  // by slot; empty until a call has a method
  std::vector<double> planned_;                  // by slot, most_measures_ values for each
  std::size_t most_measures_ = 0;                // of any method so far
};

}  // namespace lacuna::runtime
