#include "runtime/skip/skip_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/engine/parts.hpp"
#include "runtime/skip/skip_audit.hpp"
#include "runtime/skip/skip_importance.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::size_t most_stretches = 1000;  // of at most 64 parts, whose number has 16 bits on the wire

Status refuse(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

Status check_steps(std::string_view what, int steps, int most, const Hosts& hosts) {
  if (steps >= 0 && steps <= most) return {};
  const std::string where = hosts.count() > 1 ? fmt::format(" of {} hosts", hosts.count()) : "";
  return refuse(fmt::format("{} is {}, must be 0 .. {} on {} ranks{}", what, steps, most, hosts.size(), where));
}

Status check_schedule(const Skip& skip, int most, const Hosts& hosts) {
  const SkipStage* earlier = nullptr;
  for (const SkipStage& stage : skip.schedule) {
    if (earlier && stage.from_run <= earlier->from_run) {
      return refuse(fmt::format("schedule: a stage from run {} behind one from run {}; they must ascend",
                                stage.from_run, earlier->from_run));
    }
    if (Status valid = check_steps("schedule: skip_steps", stage.steps, most, hosts); !valid) return valid;
    earlier = &stage;
  }
  return {};
}

/// How a segment is treated whatever S is: dense, or skipped, by itself where its importance decides.
struct Treatment {
  bool dense = false;
  bool automatic = false;
  std::uint64_t key = 0;

  friend bool operator==(const Treatment&, const Treatment&) = default;
};

Treatment treatment_of(const Call& call, const SkipSegment& segment) {
  const bool is_small = segment.count * size_of(call.dtype) < call.options.skip.small;
  if (is_small || segment.policy == SkipPolicy::Never) return {.dense = true};
  if (segment.policy == SkipPolicy::Skip) return {};
  return {.automatic = true, .key = segment.key};
}

Status check_segments(const Call& call) {
  const Skip& skip = call.options.skip;
  if (skip.segments.empty()) return {};
  if (call.collective != Collective::Allreduce) return refuse("segments: only an allreduce has them");
  const auto not_covered = [&] {
    return refuse(fmt::format("segments: they must cover exactly the {} elements of the call", call.count));
  };
  std::size_t end = 0, stretches = 0;
  std::optional<Treatment> last;
  for (const SkipSegment& segment : skip.segments) {
    stretches += last != treatment_of(call, segment);
    last = treatment_of(call, segment);
    if (segment.offset != end) {
      return refuse(fmt::format("segments: one begins at element {}, must begin at {}, where the last one ends",
                                segment.offset, end));
    }
    if (segment.count > call.count - end) return not_covered();
    end += segment.count;
    if (segment.policy == SkipPolicy::Automatic && !skip.importance) {
      return refuse("segments: the policy automatic needs skip.importance");
    }
  }
  if (stretches > most_stretches) {
    return refuse(fmt::format("segments: {} that differ from the one before them, at most {} are allowed in a call",
                              stretches, most_stretches));
  }
  if (Status valid = skip.importance ? skip.importance->check() : Status(); !valid) return valid;
  std::vector<std::uint64_t> keys;
  each_automatic(call, [&](const SkipSegment& segment) { keys.push_back(segment.key); });
  std::sort(keys.begin(), keys.end());
  if (const auto twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end()) {
    return refuse(fmt::format("segments: the key {} of an automatic one stands twice", *twice));
  }
  if (!keys.empty() && skip.gather_steps > 0) {
    return refuse(
        "segments: the policy automatic needs results that are equal on all ranks; skip.gather_steps must "
        "be 0");
  }
  return end == call.count ? Status::ok() : not_covered();
}

/// What measures and adds needs the numbers that it is made for.
Status check_scale(const Call& call) {
  const Skip& skip = call.options.skip;
  if (call.reduction != Reduction::Sum && call.reduction != Reduction::Avg) {
    return refuse(fmt::format("skipping leaves out terms of a sum: the reduction is {}, must be sum or avg",
                              to_string(call.reduction)));
  }
  if (is_integer(call.dtype) && skip.scale != SkipScale::ZeroFill) {
    return refuse(fmt::format("{} of {}: integers are not scaled; skip.scale must be zero_fill", to_string(skip.scale),
                              to_string(call.dtype)));
  }
  if (!std::isfinite(skip.factor)) return refuse(fmt::format("skip.factor is {}, must be finite", skip.factor));
  if (!skip.feedback) return {};
  if (!skip.state) return refuse("skip.feedback needs a skip.state, which keeps what is left out");
  if (is_integer(call.dtype))
    return refuse(fmt::format("skip.feedback of {}: must be of floating point", to_string(call.dtype)));
  if (skip.scale == SkipScale::ZeroFill) return {};
  return refuse(
      fmt::format("skip.feedback with {} results: what is scaled up and also added later would count twice; "
                  "skip.scale must be zero_fill",
                  to_string(skip.scale)));
}

/// S where no schedule says otherwise.
int steps_asked_for(const Skip& skip, const Skipping& skipping, const Hosts& hosts) {
  int steps = skip.steps;
  if (skip.ratio == 0) return steps;
  const int most = skipping.most(hosts);
  while (steps < most && skipping.left_out(hosts, steps + 1) <= skip.ratio + 1e-12) ++steps;
  return steps;
}

/// Cuts a stretch into parts as if it were a call of its own.
void add_parts(const Call& call, const PartPlan& stretch, Rank size, std::size_t chunk_bytes, Plan& plan) {
  const Call alone{.collective = call.collective, .count = stretch.data.count, .dtype = call.dtype};
  add_shares(stretch, stretch.packed > 0 ? 1 : number_of_parts(alone, size, chunk_bytes), plan);
}

/// A dense execution of equal parts.
void forget_plan(Run& run) {
  run.skip_steps = run.gather_steps = 0;
  run.residual = nullptr;
  run.feedback = false;
  run.plan.parts.clear();
  run.plan.packed.clear();
}

}  // namespace

Status check_skip(const Call& call, const Algorithm& algorithm, const Hosts& hosts) {
  const Skip& skip = call.options.skip;
  if (!algorithm.skipping) {
    if (!skip.is_on()) return {};
    const std::string given = skip.steps != 0 ? fmt::format("skip_steps is {}, must be 0", skip.steps)
                                              : "skip.ratio, schedule, gather_steps and feedback must be off";
    return refuse(fmt::format("{} {} skips no steps: {}", to_string(call.collective), algorithm.name, given));
  }
  const int most = algorithm.skipping->most(hosts);
  if (Status valid = check_steps("skip_steps", skip.steps, most, hosts); !valid) return valid;
  if (!(skip.ratio >= 0 && skip.ratio <= 1)) {
    return refuse(fmt::format("skip.ratio is {}, must be 0 .. 1", skip.ratio));
  }
  if (Status valid = check_audit(call); !valid) return valid;
  if (skip.ratio > 0 && skip.steps > 0) return refuse("skip.steps and skip.ratio: one of them must be 0");
  if ((skip.warm_up > 0 || !skip.schedule.empty()) && !skip.state) {
    return refuse("skip.warm_up and skip.schedule need a skip.state, which counts the runs");
  }
  if ((skip.mode == SkipMode::Shuffled || skip.reversed) && algorithm.by_hosts && skip.is_on()) {
    return refuse(
        fmt::format("{}: ranks keep their places on their hosts; skip.mode must be static or random, and "
                    "skip.reversed off",
                    algorithm.name));
  }
  if (Status valid = check_schedule(skip, most, hosts); !valid) return valid;
  if (call.collective != Collective::Allreduce && skip.mode == SkipMode::Random && skip.is_on()) {
    return refuse(
        fmt::format("{}: blocks turn with their ranks, which changes nothing; skip.mode must be static or "
                    "shuffled",
                    to_string(call.collective)));
  }
  if (skip.gather_steps != 0 && (call.collective != Collective::Allreduce || !algorithm.symmetric)) {
    return refuse("skip.gather_steps: only of allreduce skip_ring; an allgather has skip.steps");
  }
  if (Status valid = check_steps("skip.gather_steps", skip.gather_steps, most, hosts); !valid) return valid;
  if (skip.keep && call.collective != Collective::Allgather) {
    return refuse("skip.keep: only an allgather leaves what it lacks as it is");
  }
  if (call.collective == Collective::Allgather && skip.feedback) {
    return refuse("skip.feedback: an allgather adds nothing up");
  }
  const bool gathers_less = call.collective == Collective::Allgather ? skip.is_on() : skip.gather_steps > 0;
  if (gathers_less && !skip.incomplete) {
    return refuse(
        "what is left out of an allgather some ranks lack and others have, so that their results differ: "
        "skip.incomplete asks for that");
  }
  if (Status valid = check_segments(call); !valid) return valid;
  return call.collective == Collective::Allgather ? Status::ok() : check_scale(call);
}

int steps_of(const Call& call, const Algorithm& algorithm, const Hosts& hosts) {
  const Skip& skip = call.options.skip;
  int steps = steps_asked_for(skip, *algorithm.skipping, hosts);
  const std::uint64_t runs = skip.state ? skip.state->runs : 0;
  if (runs < skip.warm_up) return 0;
  for (const SkipStage& stage : skip.schedule) {
    if (runs >= stage.from_run) steps = stage.steps;
  }
  return steps;
}

std::vector<int> possible_steps(const Call& call, const Algorithm& algorithm, const Hosts& hosts) {
  if (!algorithm.skipping) return {0};
  std::vector<int> all = {0, steps_asked_for(call.options.skip, *algorithm.skipping, hosts)};
  for (const SkipStage& stage : call.options.skip.schedule) all.push_back(stage.steps);
  return all;
}

int gather_steps_of(const Call& call) {
  const Skip& skip = call.options.skip;
  return skip.state && skip.state->runs < skip.warm_up ? 0 : skip.gather_steps;
}

void add_shares(const PartPlan& stretch, std::size_t parts, Plan& plan) {
  const auto [offset, count] = stretch.data;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = boundary(i, count, parts);
    plan.parts.push_back(stretch);
    plan.parts.back().data = {offset + begin, boundary(i + 1, count, parts) - begin};
  }
}

void plan_segments(const Call& call, const PartPlan& skipped, Rank size, std::size_t chunk_bytes, Plan& plan) {
  const Skip& skip = call.options.skip;
  if (skip.segments.empty() || call.count == 0) return;
  PartPlan together;
  for (auto segment = skip.segments.begin(); segment != skip.segments.end();) {
    const Treatment treatment = treatment_of(call, *segment);
    Stretch data{segment->offset, 0};
    for (; segment != skip.segments.end() && treatment_of(call, *segment) == treatment; ++segment) {
      data.count += segment->count;
    }
    if (data.count == 0) continue;
    if (treatment.dense && data.count * size_of(call.dtype) < skip.small) {
      plan.packed.push_back(data);
      together.data.count += data.count;
      continue;
    }
    PartPlan stretch = treatment.dense ? PartPlan() : skipped;
    const auto next = treatment.automatic ? skip.importance->next(treatment.key) : SkipImportance::Next::Skip;
    if (next != SkipImportance::Next::Skip) {
      stretch.skip_steps = stretch.gather_steps = 0;
      stretch.outcome = next == SkipImportance::Next::Measure ? SkipOutcome::Measured : SkipOutcome::Protected;
    }
    stretch.data = data;
    add_parts(call, stretch, size, chunk_bytes, plan);
  }
  together.packed = static_cast<std::uint32_t>(plan.packed.size());
  if (together.packed > 0) add_parts(call, together, size, chunk_bytes, plan);
}

void forget_skips(Run& run) {
  run.call.options.skip = {};
  forget_plan(run);
}

void plan_skips(Run& run, const Hosts& hosts, std::size_t chunk_bytes) {
  const Skip& skip = run.call.options.skip;
  forget_plan(run);
  run.skip_steps = steps_of(run.call, *run.algorithm, hosts);
  run.gather_steps = gather_steps_of(run.call);
  if (skip.feedback) {
    std::vector<std::byte>& residual = skip.state->residual;
    const std::size_t bytes = input_length(run.call, hosts.size()) * size_of(run.call.dtype);
    if (run.skip_steps > 0 && residual.empty()) residual.resize(bytes);
    run.residual = residual.empty() ? nullptr : residual.data();
  }
  run.feedback = run.residual != nullptr;
  if (skip.state) ++skip.state->runs;
  plan_segments(run.call, {.skip_steps = run.skip_steps, .gather_steps = run.gather_steps, .feedback = run.feedback},
                hosts.size(), chunk_bytes, run.plan);
  if (!run.plan.parts.empty()) run.parts = static_cast<std::uint32_t>(run.plan.parts.size());
  plan_audit(run);
  each_automatic(run.call, [&](const SkipSegment& segment) { skip.importance->started(segment.key, &run); });
}

}  // namespace lacuna::runtime
