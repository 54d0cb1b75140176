#include "bindings/cpp/request_list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/engine/batch.hpp"
#include "runtime/job/job.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna {

using std::chrono::microseconds;

Request* RequestList::at(std::size_t place) const {
  Request* const request = find_(data_, place);
  return request && request->run_ ? request : nullptr;
}

std::optional<std::size_t> RequestList::first() const {
  for (std::size_t i = 0; i < size_; ++i) {
    if (at(i)) return i;
  }
  return std::nullopt;
}

/// The waits for the requests of a list, of which at least one is not empty.
struct Waits {
  using Clock = runtime::Clock;

  RequestList requests;
  std::optional<microseconds> timeout;
  std::size_t first;

  JobState& job() const { return *RequestList::group_of(*requests.at(first)).job; }
  runtime::Executor& executor() const { return *job().executor; }
  runtime::Run& run(std::size_t place) const { return RequestList::run_of(*requests.at(place)); }
  bool is_unfinished(std::size_t place) const { return requests.at(place) && !runtime::has_ended(run(place)); }
  Clock::time_point until() const {
    return timeout ? runtime::later(executor().time().now(), *timeout) : Clock::time_point::max();
  }

  /// Returns what forbids to wait for these requests, if anything does.
  Waited refusal() const {
    for (std::size_t i = first; i < requests.size(); ++i) {
      if (!requests.at(i)) continue;
      const JobState& other = *RequestList::group_of(*requests.at(i)).job;
      if (Status may = other.home.check(); !may) return {i, may};
      if (&other == &job()) continue;
      return {i,
              {Code::InvalidArgument,
               fmt::format("requests {} and {} belong to different ranks of this process: wait for them separately",
                           first, i)}};
    }
    return {};
  }

  /// Returns the outcome of a request that has ended, once its buffers are free or the time is up.
  Status outcome(std::size_t place, Clock::time_point latest) const {
    const auto left = std::chrono::ceil<microseconds>(latest - executor().time().now());
    return requests.at(place)->wait(std::max(left, microseconds(0)));
  }

  /// Carries out one of the waits below, unless there is nothing to wait for or the requests can't be waited for
  /// together.
  static Waited carry_out(RequestList requests, std::optional<microseconds> timeout, Waited (Waits::*wait)() const) {
    const auto first = requests.first();
    if (!first) return {};
    const Waits waits{requests, timeout, *first};
    const Waited refusal = waits.refusal();
    return refusal.index ? refusal : (waits.*wait)();
  }

  Waited all() const;
  Waited all_outcomes(Clock::time_point latest) const;
  Waited any() const;
  Waited any_now() const;
  std::optional<std::size_t> find_ended() const;
  Status late(std::size_t place, std::string_view what) const;
};

Status Waits::late(std::size_t place, std::string_view what) const {
  runtime::Executor::Lock lock(executor());
  const runtime::Run* unfinished = runtime::find_unfinished(run(place));
  return {Code::TimedOut, fmt::format("{} ms have passed{}: request {} of {}: {}",
                                      static_cast<double>(timeout->count()) / 1e3, what, place, requests.size(),
                                      unfinished ? unfinished->communicator->text_of(*unfinished) : "it has ended")};
}

Waited Waits::all() const {
  std::size_t ended = first;  // so many requests at the front have ended
  const auto done = [&] {
    while (ended < requests.size() && !is_unfinished(ended)) ++ended;
    return ended == requests.size();
  };
  const auto latest = until();
  if (!executor().wait(std::ref(done), latest)) return {ended, late(ended, "")};
  return all_outcomes(latest);
}

Waited Waits::all_outcomes(Clock::time_point latest) const {
  latest = std::min<Clock::time_point>(latest, executor().time().now() + runtime::reclaim_grace);
  Waited told;
  for (std::size_t i = first; i < requests.size(); ++i) {
    Status one = requests.at(i) ? outcome(i, latest) : Status();
    if (!one && !told.index) {
      told = {i, {one.code(), fmt::format("request {} of {}: {}", i, requests.size(), one.message())}};
    }
  }
  return told;
}

/// Returns the lowest place whose request has ended. The executor's lock is held.
std::optional<std::size_t> Waits::find_ended() const {
  for (std::size_t i = first; i < requests.size(); ++i) {
    if (requests.at(i) && !is_unfinished(i)) return i;
  }
  return std::nullopt;
}

Waited Waits::any() const {
  std::optional<std::size_t> ended;
  const auto done = [&] {
    ended = find_ended();
    return ended.has_value();
  };
  const auto latest = until();
  if (executor().wait(std::ref(done), latest)) return {ended, outcome(*ended, latest)};
  return {std::nullopt, late(first, fmt::format(", and none of {} has ended", count_of(requests.size(), "request")))};
}

Waited Waits::any_now() const {
  if (!executor().options().progress_thread) executor().progress();
  std::optional<std::size_t> ended;
  {
    const runtime::Executor::Lock lock(executor());
    ended = find_ended();
  }
  return ended ? Waited{ended, outcome(*ended, executor().time().now())} : Waited();
}

Waited wait_all(RequestList requests, std::optional<microseconds> timeout) {
  return Waits::carry_out(requests, timeout, &Waits::all);
}

Waited wait_any(RequestList requests, std::optional<microseconds> timeout) {
  return Waits::carry_out(requests, timeout, &Waits::any);
}

Waited test_any(RequestList requests) { return Waits::carry_out(requests, microseconds(0), &Waits::any_now); }

}  // namespace lacuna
