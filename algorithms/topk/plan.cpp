#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/topk/selecting.hpp"
#include "kernels/backend.hpp"

namespace lacuna {
namespace {

Status refuse(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

Status check_state_needed(const Call& call) {
  const Topk& asked = topk_of(call);
  if (asked.feedback && !call.options.state) {
    return refuse("topk.feedback needs a state, which keeps what is not sent; give one, or feedback=0");
  }
  if (asked.warm_up > 0 && !call.options.state) return refuse("topk.warm_up needs a state, which counts the runs");
  if (asked.feedback) return {};
  if (asked.momentum > 0) return refuse("topk.momentum corrects what is fed back: it needs feedback=1");
  if (asked.clip > 0) return refuse("topk.clip scales what is fed back: it needs feedback=1");
  return {};
}

Status check_entries(const Call& call) {
  const Topk& asked = topk_of(call);
  if (!call.input_entries.places) return {};
  if (asked.momentum > 0)
    return refuse("topk.momentum must be 0 if the input holds entries, because the velocity needs all elements");
  if (asked.clip > 0)
    return refuse("topk.clip must be 0 if the input holds entries, because the norm needs all elements");
  if (asked.selection == TopkSelection::Exact || asked.feedback) return {};
  return refuse("topk.selection must be exact if the input holds entries and feedback=0");
}

Status check_selection(const Topk& asked) {
  if (asked.k == 0 && asked.density == 0)
    return refuse("topk: density and k are both 0; one of them must say how many elements are sent");
  if (asked.selection == TopkSelection::Threshold && asked.warm_up > 0) {
    return refuse(
        "topk.warm_up changes how many elements are sent, but selection=threshold sets no number; give one of the two");
  }
  return {};
}

/// Returns the number of the next run of the state, from 1, or 0 without a state.
std::uint64_t next_run(const Call& call) { return call.options.state ? call.options.state->runs + 1 : 0; }

/// Are all elements to be sent in a run, or, for run 0, after the warm-up?
bool asks_for_all(const Call& call, Rank size, std::uint64_t run) {
  const std::size_t places = input_length(call, size);
  return topk_of(call).selection == TopkSelection::Exact && entries_asked(topk_of(call), places, run) == places;
}

/// Are messages capped, at k or at a range's share of k?
bool is_capped(const Call& call, const Algorithm& algorithm, Rank size, std::uint64_t run) {
  return topk_of(call).capped || (&algorithm == &gtopk && !asks_for_all(call, size, run));
}

/// Does this kind of selection take any number of entries?
bool is_unlimited(const Topk& asked) {
  return asked.selection == TopkSelection::Threshold || asked.selection == TopkSelection::Gaussian;
}

Status check_capped(const Call& call, const Algorithm& algorithm, Rank size) {
  const Topk& asked = topk_of(call);
  if (!is_capped(call, algorithm, size, 0)) return {};
  const std::string_view what = &algorithm == &gtopk ? "topk by gtopk" : "topk.capped";
  if (asked.capped && &algorithm != &sparse_ring) {
    return refuse(
        fmt::format("topk.capped: only sparse_ring drops entries where it is asked to, not {}", algorithm.name));
  }
  if (!asked.feedback) return refuse(fmt::format("{}: what is dropped is fed back; it needs feedback=1", what));
  const bool exactly = &algorithm == &gtopk;
  if (exactly ? asked.selection == TopkSelection::Exact : !is_unlimited(asked)) return {};
  return refuse(fmt::format("{}: selection={} may select more than k; selection must be exact{}", what,
                            topk_selection_names[static_cast<std::size_t>(asked.selection)],
                            exactly ? "" : " or sampled"));
}

/// The most entries that a rank selects. A selection by a sample that takes over a third too many is made again
/// exactly.
std::size_t most_entries(const Topk& asked, std::size_t places, std::uint64_t run) {
  if (is_unlimited(asked)) return places;
  const std::size_t entries = entries_asked(asked, places, run);
  return asked.selection == TopkSelection::Exact ? entries : std::min(places, entries + entries / 3);
}

/// A range that is capped is one chunk, because what it keeps depends on all of it. Balanced ranges are cut by the
/// entries that ranks select, `entries` at most.
TopkForm form_of(const PlanRequest& request, std::size_t entries) {
  const Call& call = request.call;
  const Algorithm& algorithm = request.algorithm;
  const Topk& asked = topk_of(call);
  const Rank size = request.hosts.size();
  TopkForm form;
  form.feedback = asked.feedback;
  form.velocity = asked.momentum > 0;
  form.clipped = asked.clip > 0;
  form.listed = call.output_entries.places != nullptr;
  form.ranged = &algorithm == &sparse_split || &algorithm == &sparse_reduce_scatter || &algorithm == &sparse_ring;
  form.capped = is_capped(call, algorithm, size, next_run(call));
  form.format = asked.format;
  if (&algorithm == &sparse_ring && !asked.capped) form.chunks = asked.chunks;
  if (&algorithm == &sparse_split && asked.ranges == TopkRanges::Balanced) {
    form.bins = sparse::bins_for(entries, size);
  }
  return form;
}

}  // namespace

std::size_t entries_asked(const Topk& asked, std::size_t places, std::uint64_t run) {
  const std::size_t entries = sparse::entries_asked(asked.density, asked.k, places);
  if (run == 0 || run > asked.warm_up || places == 0) return entries;
  const double density = static_cast<double>(entries) / static_cast<double>(places);
  const double first = std::max(asked.warm_up_density, density);
  const double share = static_cast<double>(run - 1) / static_cast<double>(asked.warm_up);
  return sparse::entries_asked(first * std::pow(density / first, share), 0, places);
}

Status check_topk(const Call& call, const Algorithm& algorithm, const Hosts& hosts) {
  if (Status valid = sparse::check_call("topk", call, hosts.size()); !valid) return valid;
  if (Status valid = check_selection(topk_of(call)); !valid) return valid;
  if (Status valid = check_state_needed(call); !valid) return valid;
  if (Status valid = check_entries(call); !valid) return valid;
  const bool adds_all =
      &algorithm == &sparse_allgather || &algorithm == &sparse_split || &algorithm == &sparse_reduce_scatter;
  if (adds_all && hosts.size() > most_added_at_once) {
    return refuse(fmt::format(
        "{} by {} adds the messages of all ranks at once: {} ranks, at most {} are allowed{}",
        traits_of(call.collective).name, algorithm.name, hosts.size(), most_added_at_once,
        call.collective == Collective::Allreduce ? "; sparse_ring, sparse_doubling and gtopk take any number" : ""));
  }
  return check_capped(call, algorithm, hosts.size());
}

bool lossless_topk(const Call& call, const Hosts& hosts, std::size_t entries) {
  const Topk& asked = topk_of(call);
  if (asked.clip > 0 || asked.capped) return false;
  if (call.options.algorithm == gtopk.name) return asks_for_all(call, hosts.size(), next_run(call));
  if (asked.selection == TopkSelection::Threshold) return asked.threshold == 0;
  return asked.selection == TopkSelection::Exact &&
         entries_asked(asked, input_length(call, hosts.size()), next_run(call)) >= entries;
}

void plan_topk(const PlanRequest& request, Plan& plan) {
  const Call& call = request.call;
  const Topk& asked = topk_of(call);
  const Rank size = request.hosts.size();
  const std::size_t places = input_length(call, size);
  const sparse::Arguments arguments{.wanted = entries_asked(asked, places, next_run(call)),
                                    .room = most_entries(asked, places, next_run(call))};
  PartPlan part{.data = {0, call.count}, .outcome = 1, .lossy = true, .arguments = arguments};
  part.structure.parameters = form_of(request, arguments.room);
  plan.parts.push_back(part);
  plan.reports = true;
  plan.writes_state = asked.feedback;
  plan.measures.tell(sparse::measure::asked, static_cast<double>(arguments.wanted));
}

}  // namespace lacuna
