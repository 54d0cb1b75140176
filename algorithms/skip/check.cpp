#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/skip/skipping.hpp"
#include "runtime/values/count_of.hpp"

// What skipping refuses. It looks only at values that are equal on all ranks.
namespace lacuna {
namespace {

constexpr std::size_t most_stretches = 1000;  // each one has parts of its own, which are planned in each run

Status refuse(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

Status check_steps(std::string_view what, int steps, int most, const Hosts& hosts) {
  if (steps >= 0 && steps <= most) return {};
  const std::string where = hosts.count() > 1 ? fmt::format(" of {} hosts", hosts.count()) : "";
  return refuse(
      fmt::format("{} is {}, must be 0 .. {} on {}{}", what, steps, most, count_of(hosts.size(), "rank"), where));
}

Status check_schedule(const Skip& skip, int most, const Hosts& hosts) {
  for (const SkipStage& stage : skip.schedule) {
    if (Status valid = check_steps("skip.schedule: steps", stage.steps, most, hosts); !valid) return valid;
  }
  return {};
}

Status check_segments(const Call& call) {
  const Skip& skip = skip_of(call);
  if (skip.segments.empty()) return {};
  if (call.collective != Collective::Allreduce) {
    return refuse(fmt::format("segments of {}: only an allreduce has them", to_string(call.collective)));
  }
  std::size_t end = 0, stretches = 0;
  std::optional<Treatment> last;
  bool measures = false;
  for (const SkipSegment& segment : skip.segments) {
    const Treatment treatment = treatment_of(skip, call.dtype, segment);
    stretches += last != treatment || treatment == Treatment::Automatic;
    measures = measures || treatment == Treatment::Automatic;
    last = treatment;
    if (segment.offset != end) {
      return refuse(fmt::format("segments: one begins at element {}, must begin at {}, where the last one ends",
                                segment.offset, end));
    }
    if (segment.count > call.count - end) {
      return refuse(
          fmt::format("segments: one of {} begins at element {}, they must cover exactly the {} elements of the call",
                      count_of(segment.count, "element"), end, call.count));
    }
    end += segment.count;
    if (segment.policy == SkipPolicy::Automatic && !call.options.state) {
      return refuse("segments: the policy automatic needs a state, which keeps what is measured");
    }
  }
  if (stretches > most_stretches) {
    return refuse(fmt::format("segments: {} that differ from the one before them, at most {} are allowed in a call",
                              stretches, most_stretches));
  }
  if (measures && skip.gather_steps > 0) {
    return refuse(fmt::format(
        "segments: the policy automatic needs results that are equal on all ranks: skip.gather_steps is {}, "
        "must be 0",
        skip.gather_steps));
  }
  if (end == call.count) return {};
  return refuse(
      fmt::format("segments: the last one ends at element {}, they must cover exactly the {} elements of the call", end,
                  call.count));
}

/// Refuses reductions and element types that skipping, its scales or feedback cannot serve.
Status check_scale(const Call& call) {
  const Skip& skip = skip_of(call);
  if (call.reduction != Reduction::Sum && call.reduction != Reduction::Avg) {
    return refuse(fmt::format("skipping leaves out terms of a sum: the reduction is {}, must be sum or avg",
                              to_string(call.reduction)));
  }
  if (is_integer(call.dtype) && skip.scale != SkipScale::ZeroFill) {
    return refuse(fmt::format("{} of {}: integers are not scaled; skip.scale must be zero_fill", to_string(skip.scale),
                              to_string(call.dtype)));
  }
  if (!skip.feedback) return {};
  if (is_integer(call.dtype))
    return refuse(fmt::format("skip.feedback of {}: must be of floating point", to_string(call.dtype)));
  if (skip.scale == SkipScale::ZeroFill) return {};
  return refuse(
      fmt::format("skip.feedback with {} results: what is scaled up and also added later would count twice; "
                  "skip.scale must be zero_fill",
                  to_string(skip.scale)));
}

/// Feedback, schedules and audits need a state, because they remember something.
Status check_state_needed(const Call& call) {
  const Skip& skip = skip_of(call);
  if (call.options.state) return {};
  if (skip.feedback) return refuse("skip.feedback needs a state, which keeps what is left out");
  if (skip.audit > 0) return refuse("skip.audit needs a state, which counts the runs and keeps the error");
  if (skip.warm_up == 0 && skip.schedule.empty()) return {};
  return refuse("skip.warm_up and skip.schedule need a state, which counts the runs");
}

Status check_audit(const Call& call) {
  const Skip& skip = skip_of(call);
  if (skip.audit == 0) return {};
  if (call.collective != Collective::Allreduce || skip.gather_steps > 0) {
    return refuse(
        fmt::format("skip.audit of {} with skip.gather_steps={}: it needs an allreduce with skip.gather_steps=0, "
                    "whose results are equal on all ranks",
                    to_string(call.collective), skip.gather_steps));
  }
  if (!is_integer(call.dtype)) return {};
  return refuse(fmt::format("skip.audit of {}: must be of floating point", to_string(call.dtype)));
}

Status check_order(const Call& call, const Algorithm& algorithm) {
  const Skip& skip = skip_of(call);
  if (!skip.is_on()) return {};
  if ((skip.mode == SkipMode::Shuffled || skip.reversed) && algorithm.by_hosts) {
    return refuse(
        fmt::format("{}: ranks keep their places on their hosts; skip.mode must be static or random, and "
                    "skip.reversed off",
                    algorithm.name));
  }
  if (call.collective == Collective::Allreduce || skip.mode != SkipMode::Random) return {};
  return refuse(
      fmt::format("{}: blocks turn with their ranks, which changes nothing; skip.mode must be static or "
                  "shuffled",
                  to_string(call.collective)));
}

Status check_gathering(const Call& call, const Algorithm& algorithm) {
  const Skip& skip = skip_of(call);
  const bool gathers = call.collective == Collective::Allgather;
  if (skip.gather_steps != 0 && (call.collective != Collective::Allreduce || !algorithm.symmetric)) {
    return refuse(
        fmt::format("skip.gather_steps is {} for {} {}: only allreduce ring has it; an allgather has skip.steps",
                    skip.gather_steps, to_string(call.collective), algorithm.name));
  }
  if (skip.keep && !gathers) {
    return refuse(
        fmt::format("skip.keep of {}: only an allgather leaves what it lacks as it is", to_string(call.collective)));
  }
  if (gathers && skip.feedback) return refuse("skip.feedback: an allgather adds nothing up");
  const bool gathers_less = gathers ? skip.is_on() : skip.gather_steps > 0;
  if (!gathers_less || skip.incomplete) return {};
  return refuse(
      "what is left out of an allgather some ranks lack and others have, so that their results differ: "
      "skip.incomplete asks for that");
}

}  // namespace

Status check_skip(const Call& call, const Algorithm& algorithm, const Hosts& hosts) {
  const Skip& skip = skip_of(call);
  // One rank has nothing to skip and runs densely, so that a program need not ask how many ranks it has.
  const int most = hosts.size() == 1 ? static_cast<int>(Skip::most_steps) : skipping_of(algorithm)->most(hosts);
  if (Status valid = check_steps("skip.steps", skip.steps, most, hosts); !valid) return valid;
  if (skip.ratio > 0 && skip.ratio <= 1 && skip.steps > 0)
    return refuse(fmt::format("skip.steps is {} and skip.ratio is {}: one of them must be 0", skip.steps, skip.ratio));
  if (Status valid = check_steps("skip.gather_steps", skip.gather_steps, most, hosts); !valid) return valid;
  if (Status valid = check_order(call, algorithm); !valid) return valid;
  if (Status valid = check_gathering(call, algorithm); !valid) return valid;
  for (Status (*check)(const Call&) : {check_state_needed, check_audit, check_segments}) {
    if (Status valid = check(call); !valid) return valid;
  }
  if (Status valid = check_schedule(skip, most, hosts); !valid) return valid;
  return call.collective == Collective::Allgather ? Status::ok() : check_scale(call);
}

Status skip_ready(const Call& call, Rank size) {
  const Status fits = check_residual(call, size);
  return fits ? importance_ready(call) : fits;
}

}  // namespace lacuna
