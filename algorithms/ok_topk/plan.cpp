#include <fmt/format.h>

#include <algorithm>

#include "algorithms/ok_topk/state.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::ok {
namespace {

Status refuse(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

/// The form of the first part of the next run. It depends only on what is equal on all ranks.
Form chosen_form(const Call& call, std::size_t places) {
  const OkTopk& asked = options_of(call);
  const MethodState& state = *call.options.state;
  Form form;
  form.feedback = asked.feedback;
  form.velocity = asked.momentum > 0;
  form.listed = call.output_entries.places != nullptr;
  form.format = asked.format;
  form.bins = bins_of(places);
  form.bucket = asked.bucket;
  form.reevaluates = state.runs % asked.tau_prime == 0;
  form.repartitions = state.runs % asked.tau == 0 || !state.find(partition);
  form.stage = form.reevaluates ? Stage::Whole : Stage::Sums;
  return form;
}

/// Can one block be so much longer than the mean that blocks are balanced?
bool may_balance(const OkTopk& asked, Rank size) { return static_cast<double>(size) > asked.trigger; }

Status check_entries(const Call& call) {
  const OkTopk& asked = options_of(call);
  if (!call.input_entries.places) return {};
  if (!asked.feedback) return refuse("ok_topk adds an input of entries to its residual, so that feedback must be 1");
  if (asked.momentum > 0)
    return refuse("ok_topk.momentum must be 0 if the input holds entries, because the velocity needs all elements");
  return {};
}

/// If the state has this array, it must be of this dtype and length.
Status check_array(const MethodState& state, std::string_view name, Dtype dtype, std::size_t count) {
  const StateArray* array = state.find(name);
  if (!array || (array->dtype == dtype && array->bytes.size() == count * size_of(dtype))) return {};
  return refuse(fmt::format(
      "the {} of this state has {} of {}, this call needs {} of {}: give each tensor a state "
      "of its own",
      name, count_of(array->bytes.size(), "byte"), to_string(array->dtype), count * size_of(dtype), to_string(dtype)));
}

Status check_state(const Call& call, Rank size) {
  if (!call.options.state) return refuse("ok_topk needs a state, which keeps its thresholds; give one");
  const MethodState& state = *call.options.state;
  if (Status fits = check_array(state, local_threshold, Dtype::F64, threshold_words); !fits) return fits;
  return check_array(state, partition, Dtype::I64, words_of_partition(input_length(call, size)));
}

}  // namespace

Status check(const Call& call, const Algorithm&, const Hosts& hosts) {
  const OkTopk& asked = options_of(call);
  if (Status valid = sparse::check_call("ok_topk", call, hosts.size()); !valid) return valid;
  if (asked.k == 0 && asked.density == 0) {
    return refuse("ok_topk: density and k are both 0; one of them must say how many elements are sent");
  }
  if (Status valid = check_state(call, hosts.size()); !valid) return valid;
  if (asked.momentum > 0 && !asked.feedback) {
    return refuse("ok_topk.momentum corrects what is fed back: it needs feedback=1");
  }
  if (Status valid = check_entries(call); !valid) return valid;
  constexpr auto most = static_cast<Rank>(kernels::Backend::most_views);
  if (hosts.size() <= most || !may_balance(asked, hosts.size())) return {};
  return refuse(
      fmt::format("ok_topk adds the messages of all ranks at once where it balances blocks: {} ranks, at most {} are "
                  "allowed, or a trigger of as many",
                  hosts.size(), most));
}

/// The first run selects exactly. The result has all sums if they are no more than k.
bool lossless(const Call& call, const Hosts& hosts, std::size_t entries) {
  const double sums = static_cast<double>(entries) * hosts.size();
  const double asked = static_cast<double>(entries_asked(call, hosts.size()));
  return asked >= std::min(sums, static_cast<double>(input_length(call, hosts.size())));
}

void plan(const PlanRequest& request, Plan& plan) {
  const Call& call = request.call;
  const Rank size = request.hosts.size();
  const std::size_t places = input_length(call, size), entries = entries_asked(call, size);
  const Form form = chosen_form(call, places);
  sparse::Arguments arguments{.wanted = entries, .room = entries};
  if (!form.reevaluates) {
    const auto other_ranges = static_cast<std::size_t>(size - 1);
    arguments.room = std::min(places, most_by_threshold(entries, places) + other_ranges);
  }
  PartPlan part{.data = {0, call.count}, .outcome = 1, .lossy = true, .arguments = arguments};
  part.structure.parameters = form;
  plan.parts.push_back(part);
  plan.reports = true;
  plan.writes_state = true;
  plan.measures.tell(sparse::measure::asked, static_cast<double>(entries));
  plan.measures.tell(measure::bound_words, 6 * static_cast<double>(entries) * (size - 1) / static_cast<double>(size));
}

/// Decides by two values: the entries of all blocks together, and the entries of the largest block.
std::optional<PartPlan> follow(const Followed& part) {
  Form form = form_of(part.part);
  if (form.stage != Stage::Sums || part.values.size() != 2) return {};
  const double total = static_cast<double>(part.values[0]), largest = static_cast<double>(part.values[1]);
  const OkTopk& asked = options_of(part.request.call);
  const bool uneven = largest * part.request.hosts.size() > asked.trigger * total;
  form.stage = uneven ? Stage::Balance : Stage::Gather;
  PartPlan next = part.part;
  next.structure.parameters = form;
  return next;
}

}  // namespace lacuna::ok
