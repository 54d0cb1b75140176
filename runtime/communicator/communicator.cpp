#include "runtime/communicator/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "runtime/communicator/check_call.hpp"
#include "runtime/engine/batch.hpp"
#include "runtime/engine/tables.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/values/digest.hpp"

namespace lacuna::runtime {

namespace {

Hosts of_ranks(const Hosts& hosts, Rank ranks) {
  std::vector<Rank> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return ranks == hosts.size() ? hosts : hosts.of(all);
}

}  // namespace

Communicator::Communicator(Executor& executor, std::uint64_t id, Group group, Hosts hosts, std::uint64_t key)
    : Client(executor, id, group, of_ranks(hosts, group.size())),
      executor_(executor),
      all_hosts_(std::move(hosts)),
      sampler_{.seed = 0, .key = key, .draw = 0} {
  Executor::Lock lock(executor_);
  begin_poisoned(executor_.join(*this));
  log_debug(Subsystem::Executor, "communicator {:016x}: rank {} of {}", id, rank(), size());
}

Communicator::~Communicator() {
  Executor::Lock lock(executor_);
  if (const Status why = unheard(); why.code() == Code::Mismatch) {
    log_last_error(Subsystem::Job, "the ranks did not agree: {}", why.message());
  }
  runs().each_call([](CollectiveRun& run) { run.abandoned = true; });
  for (MessageRun* message : runs().messages()) message->abandoned = true;
  executor_.leave(*this);
}

std::uint64_t Communicator::next_id(std::uint64_t part) const {
  Executor::Lock lock(executor_);
  return Digest().add(id()).add(runs().next()).add(part).value();
}

Status Communicator::status() const {
  Executor::Lock lock(executor_);
  return told_poison();
}

Result<Run*> Communicator::post(const Call& call, const Algorithm& algorithm) {
  if (Status valid = check(call); !valid) return valid;
  const Result<Rank> aggregators = aggregators_for(call, algorithm);
  if (!aggregators) return aggregators.status();
  CollectiveRun* run = nullptr;
  {
    Executor::Lock lock(executor_);
    if (Status may = may_start(call, algorithm); !may) return may;
    run = take_filled(call, algorithm, *aggregators);
    if (!run) return executor_.out_of_memory();
    if (Status started = start_or_give_back(*run, lock); !started) return started;
  }
  executor_.flush_deferred();
  show_to_tools(*run);
  return run;
}

/// Starts a kept run of a call that is like this one. Returns null if there is none.
Result<Run*> Communicator::start_kept(const Call& call, Executor::Lock& lock) {
  if (executor_.has_device()) return nullptr;
  CollectiveRun* const run = kept().find(call);
  if (!run) return nullptr;
  if (Status valid = check_deadline(call.options.deadline); !valid) return valid;
  if (Status may = may_start(call, *run->algorithm); !may) return may;
  kept().take(*run);
  fill(*run, call.options);
  if (Status started = start_or_give_back(*run, lock); !started) return started;
  return run;
}

Result<Run*> Communicator::post_again(const Call& call) {
  if (!KeptCalls::may_keep(call)) return nullptr;
  Result<Run*> run = nullptr;
  {
    Executor::Lock lock(executor_);
    run = start_kept(call, lock);
    if (!run || !*run) return run;
  }
  executor_.flush_deferred();
  show_to_tools(**run);
  return run;
}

Result<bool> Communicator::call_again(const Call& call) {
  if (!KeptCalls::may_keep(call)) return false;
  Result<Run*> run = nullptr;
  bool has_ended = false;
  Status status;
  {
    Executor::Lock lock(executor_);
    run = start_kept(call, lock);
    if (!run) return run.status();
    if (!*run) return false;
    const bool shows_waits = executor_.tracer() || kokkos_tools::are_loaded();
    has_ended = (*run)->finished && (*run)->operations == 0 && !shows_waits;
    if (has_ended) {
      status = (*run)->status;
      executor_.abandon(**run);
    }
  }
  executor_.flush_deferred();
  if (!has_ended) {
    show_to_tools(**run);
    status = finish(**run);
  }
  if (!status) return status;
  return true;
}

std::string Communicator::name_for_tools(const Run& run) {
  if (!kokkos_tools::are_loaded()) return {};
  if (run.kind != RunKind::Collective) return run.kind == RunKind::Send ? "lacuna send" : "lacuna receive";
  return fmt::format("lacuna {} {}", to_string(run.call.collective), as_collective(run).algorithm->name);
}

void Communicator::show_to_tools(Run& run) {
  const std::string name = name_for_tools(run);
  run.section = name.empty() ? kokkos_tools::no_section : kokkos_tools::start_section(name);
}

Result<Run*> Communicator::prepare(const Call& call, const Algorithm& algorithm) {
  if (Status valid = check(call); !valid) return valid;
  const Result<Rank> aggregators = aggregators_for(call, algorithm);
  if (!aggregators) return aggregators.status();
  Executor::Lock lock(executor_);
  if (has_failed()) return told_poison();
  CollectiveRun* run = take_filled(call, algorithm, *aggregators);
  if (!run) return executor_.out_of_memory();
  reset(*run);
  run->parts = 0;  // a start sets it
  run->prepared = run->finished = true;
  run->section = kokkos_tools::no_section;
  return run;
}

Status Communicator::start(Run& run) {
  {
    Executor::Lock lock(executor_);
    if (run.kind != RunKind::Collective || !as_collective(run).prepared) {
      return {Code::InvalidArgument, "only a call that was prepared can be started again"};
    }
    if (!run.finished) {
      return {Code::InvalidArgument, text_of(run) + " is still running: it can be started again after its end"};
    }
    if (run.operations > 0) return {Code::Busy, text_of(run) + ": the buffers of its last start are still in use"};
    CollectiveRun& call = as_collective(run);
    if (Status may = may_start(call.call, *call.algorithm); !may) return may;
    const auto check = call.method ? call.method->check : nullptr;  // the state may have been restored meanwhile
    if (Status valid = check ? check(call.call, *call.algorithm, hosts()) : Status(); !valid) return valid;
    run.finished = false;  // so nobody else starts it while the lock is free
    if (Status started = try_to_start(call, lock); !started) {
      run.finished = true;
      return started;
    }
  }
  executor_.flush_deferred();
  kokkos_tools::stop_section(run.section);  // the section of the last start
  show_to_tools(run);
  return {};
}

Status Communicator::check(const Call& call) const {
  if (Status valid = check_deadline(call.options.deadline); !valid) return valid;
  if (Status valid = check_call(call, rank(), size()); !valid) return valid;
  const InputEntries& given = call.input_entries;
  const OutputEntries& asked = call.output_entries;
  const std::size_t in = given.places ? given.count : input_length(call, size());
  const std::size_t out = asked.places ? asked.room : output_length(call, size());
  const bool reads = in > 0 && reads_input(call.collective, rank(), call.root);
  const bool writes = out > 0 && writes_output(call.collective, rank(), call.root);
  const std::array<const void*, 4> addresses = {reads ? call.input : nullptr, reads ? given.places : nullptr,
                                                writes ? call.output : nullptr, writes ? asked.places : nullptr};
  return executor_.serve(call.memory, addresses);
}

Status Communicator::may_start(const Call& call, const Algorithm& algorithm) const {
  if (has_failed()) return told_poison();
  if (Status ready = call.options.method ? check_method(call, algorithm) : Status(); !ready) return ready;
  return runs().has_room_for_call();
}

/// Sets the options in which calls that are alike may differ.
void Communicator::fill(CollectiveRun& run, const Options& options) {
  run.call.options.priority = options.priority;
  run.call.options.deadline = options.deadline;
  run.call.options.notify = options.notify;
  run.call.options.keep_alive = options.keep_alive;
}

/// Sets all that stays the same from one start to the next.
void Communicator::fill(CollectiveRun& run, const Call& call, const Algorithm& algorithm, Rank aggregators) {
  const Options& options = call.options;
  run.communicator = this;
  run.algorithm = &algorithm;
  run.hosts = aggregators > 0 ? &all_hosts_ : &hosts();
  run.aggregators = aggregators;
  run.call.collective = call.collective;
  run.call.input = call.input;
  run.call.output = call.output;
  run.call.count = call.count;
  run.call.dtype = call.dtype;
  run.call.reduction = call.reduction;
  run.call.own = call.own;
  run.call.root = call.root;
  run.call.input_entries = call.input_entries;
  run.call.output_entries = call.output_entries;
  run.call.memory = memory_of_engine(call.memory);
  keep_tables(run, call, rank());
  run.call.options.method = options.method;
  run.call.options.state = options.state;
  run.method = method_of(call, algorithm);
  run.call.options.sampler = options.sampler;
  run.call.options.algorithm.assign(KeptCalls::may_keep(call) ? std::string_view(options.algorithm) : "");
  fill(run, options);
  run.in_place = is_in_place(run.call, rank());
  const std::size_t bytes = bytes_of_buffers(run);
  run.past_caches = bytes >= executor_.options().cache_bytes;
  run.mappable = may_read_output(run, bytes);
  run.wants_copies = wants_copies(run, algorithm);
}

std::size_t Communicator::bytes_of_buffers(const CollectiveRun& run) const {
  const std::size_t in = input_length(run.call, size()), out = output_length(run.call, size());
  return (run.in_place ? std::max(in, out) : in + out) * size_of(run.call.dtype);
}

void Communicator::reset(Run& run) {
  run.settle(false);
  run.status = {};
  run.finished = run.abandoned = run.expiry_reported = false;
  run.operations = 0;
  run.sent = run.received = 0;
}

PlanRequest Communicator::plan_request(const CollectiveRun& run) const {
  return {run.call, *run.algorithm, *run.hosts, executor_.options().chunk_bytes, run.aggregators};
}

GraphShape Communicator::graph_shape(const Algorithm& program, const Structure& structure, const Order& order) const {
  return {.collective = program.collective,
          .size = order.size(),
          .position = order.position_of(rank()),
          .structure = structure,
          .hosts = program.by_hosts ? order.placed(order.size() == size() ? hosts() : all_hosts_) : Hosts()};
}

const std::shared_ptr<const Graph>& Communicator::graph(const ActivePart& part) {
  const CollectiveRun& run = collective_of(part);
  return graphs_.get(program_of(run, *part.plan), graph_shape(run, *part.plan, part.order));
}

void Communicator::ended(Run& run, std::uint64_t now) {
  CallTally& tallied = tally(run);
  ++(run.status ? tallied.completed : tallied.failed);
  tallied.ticks += ticks_between(run.posted, now);
  if (run.kind != RunKind::Collective) return runs().remove(as_message(run));
  CollectiveRun& call = as_collective(run);
  runs().remove(call);
  if (call.method) end_method(call);
}

std::string Communicator::text_of(const Run& run) const {
  return run.kind == RunKind::Collective ? runs().text_of(as_collective(run)) : text_of_message(as_message(run));
}

bool Communicator::test(Run& run) {
  if (!executor_.options().progress_thread) executor_.progress();
  {
    Executor::Lock lock(executor_);
    if (find_unfinished(run)) return false;
  }
  kokkos_tools::stop_section(run.section);
  return true;
}

Status Communicator::wait(Run& run, std::chrono::microseconds timeout) {
  const bool shows_waits = executor_.tracer() || run.section != kokkos_tools::no_section;
  if (!run.next && !shows_waits && run.is_settled()) return run.status;
  Status status;
  bool in_use = false;
  const auto ended = [&] {
    const bool over = !find_unfinished(run);
    if (over) status = outcome(run);
    in_use = is_in_use(run);
    return over;
  };
  const kokkos_tools::Region region(run.section == kokkos_tools::no_section ? "" : name_for_tools(run));
  const Clock::time_point until = later(executor_.time().now(), timeout);
  if (executor_.wait(std::ref(ended), until)) {
    kokkos_tools::stop_section(run.section);
    return in_use ? reclaim(run, status, until) : status;
  }
  {
    Executor::Lock lock(executor_);
    if (const Run* unfinished = find_unfinished(run)) {
      return {Code::TimedOut,
              fmt::format("{} ms have passed: {}", static_cast<double>(timeout.count()) / 1e3, text_of(*unfinished))};
    }
    static_cast<void>(ended());
  }
  return in_use ? reclaim(run, status, until) : status;
}

Status Communicator::finish(Run& run) {
  Status status;
  bool in_use = false;
  kokkos_tools::Section section = run.section;
  const kokkos_tools::Region region(run.section == kokkos_tools::no_section ? "" : name_for_tools(run));
  const auto ended = [&] {
    if (!run.finished) return false;
    status = run.status;
    in_use = run.operations > 0;
    if (!in_use) executor_.abandon(run);
    return true;
  };
  executor_.wait(std::ref(ended), Clock::time_point::max());
  kokkos_tools::stop_section(section);
  if (!in_use) return status;
  status = reclaim(run, status, Clock::time_point::max());
  release(run);
  return status;
}

/// Returns the status of a failed run once its buffers are the caller's again.
Status Communicator::reclaim(const Run& run, const Status& status, Clock::time_point until) {
  bool reclaimed = false;
  executor_.wait(
      [&] {
        reclaimed = !is_in_use(run);
        return reclaimed || executor_.keeps_memory();
      },
      std::min<Clock::time_point>(until, executor_.time().now() + reclaim_grace));
  if (reclaimed) return status;
  return {status.code(), fmt::format("{}; its buffers are still in use: they must live until they are reclaimed, or to "
                                     "the end of the process",
                                     status.message())};
}

bool Communicator::has_ended(const Run& run) const {
  Executor::Lock lock(executor_);
  return !find_unfinished(run);
}

bool Communicator::reclaimed(const Run& run) const {
  Executor::Lock lock(executor_);
  return !find_unfinished(run) && !is_in_use(run);
}

void Communicator::release(Run& run) {
  kokkos_tools::stop_section(run.section);
  {
    Executor::Lock lock(executor_);
    for (Run* one = &run; one;) {
      Run* const next = one->next;  // an abandoned run may be used again at once
      executor_.abandon(*one);
      one = next;
    }
  }
  executor_.flush_deferred();
}

void Communicator::fail(const Status& verdict) { executor_.fail(*this, verdict); }

}  // namespace lacuna::runtime
