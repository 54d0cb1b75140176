#include <fmt/format.h>

#include <new>

#include "runtime/communicator/communicator.hpp"

// Calls in which the job's aggregators take part. The first rank of the communicator announces such a call, so that
// the aggregators post it under the same number. To them the messages of the other ranks may come earlier.
namespace lacuna::runtime {

Result<Rank> Communicator::aggregators_for(const Call& call, const Algorithm& algorithm) const {
  const Method* method = method_of(call, algorithm);
  if (!method || !method->aggregates) return 0;
  const Rank aggregators = hall_ ? group().aggregators() : 0;
  const Result<bool> take_part = method->aggregates(call, aggregators);
  if (!take_part) return take_part.status();
  return *take_part ? aggregators : 0;
}

Status Communicator::may_announce(const CollectiveRun& run) const {
  if (!announces(run)) return {};
  return hall_->has_failed() ? hall_->told_poison() : hall_->runs().has_room_for_messages(1);
}

void Communicator::announce(const CollectiveRun& run) {
  Announcement announcement{.kind = Announcement::Kind::Call,
                            .communicator = id(),
                            .number = runs().next(),
                            .history = runs().history(),
                            .algorithm = std::string(run.method->find(*run.algorithm)->name),
                            .method = run.call.options.method.text(),
                            .lists_output = run.call.output_entries.places != nullptr};
  announcement.call = {.collective = run.call.collective,
                       .count = run.call.count,
                       .dtype = run.call.dtype,
                       .reduction = run.call.reduction,
                       .root = run.call.root};
  announcement.call.options.priority = run.call.options.priority;
  announcement.call.options.deadline = run.call.options.deadline;
  const auto bytes = std::make_shared<const std::vector<std::byte>>(encode(announcement));
  for (Rank i = 0; i < group().aggregators(); ++i) {
    hall_->begin_alone(group().process_of(size() + i), announcement_tag, bytes);
  }
}

Status Communicator::send_alone(Rank to, int tag, std::shared_ptr<const std::vector<std::byte>> bytes) {
  {
    Executor::Lock lock(executor_);
    if (has_failed()) return told_poison();
    try {
      begin_alone(to, tag, bytes);
    } catch (const std::bad_alloc&) {
      return executor_.out_of_memory();
    }
  }
  executor_.flush_deferred();
  return {};
}

void Communicator::begin_alone(Rank to, int tag, const std::shared_ptr<const std::vector<std::byte>>& bytes) {
  MessageRun& run = executor_.take_message();
  const MessageOptions options{.priority = Priority::High, .keep_alive = bytes};
  try {
    fill(run, {.kind = RunKind::Send,
               .data = const_cast<std::byte*>(bytes->data()),  // a send only reads it
               .count = bytes->size(),
               .dtype = Dtype::U8,
               .peer = to,
               .tag = static_cast<std::uint32_t>(tag),
               .options = options});
    executor_.prepare(run);
    add_numbered(run);
  } catch (const std::bad_alloc&) {
    give_back(run);
    throw;
  }
  ++tally(run).started;
  executor_.begin(run);
  executor_.abandon(run);
}

Status Communicator::assist(const Announcement& announced, const Algorithm& algorithm) {
  {
    Executor::Lock lock(executor_);
    if (has_failed()) return told_poison();
    if (comes_before(announced.number, runs().next()) && runs().remembers(runs().next() - 1)) {
      return {Code::Mismatch, fmt::format("call {} is announced after call {}", announced.number, runs().next() - 1)};
    }
    CollectiveRun* run = take_filled(announced.call, algorithm, group().aggregators());
    if (!run) return executor_.out_of_memory();
    runs().advance_to(announced.number, announced.history);
    Status started = runs().has_room_for_call();
    if (started) started = try_to_start(*run, lock);
    if (!started) {
      give_back(*run);
      return started;
    }
    executor_.abandon(*run);
  }
  executor_.flush_deferred();
  return {};
}

}  // namespace lacuna::runtime
