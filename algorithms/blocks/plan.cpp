#include <fmt/format.h>

#include <algorithm>

#include "algorithms/blocks/block_size.hpp"
#include "algorithms/blocks/steps.hpp"
#include "algorithms/phases/feedback.hpp"
#include "kernels/backend.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::block {
namespace {

/// So many parts are in flight: the blocks of some travel while others are searched and reduced.
constexpr std::uint32_t parts_in_flight = 4;
constexpr Rank slots_of_an_owner = 8;
constexpr std::size_t most_blocks_of_a_part = 4294967295;

Status refuse(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

Status check_threshold(const Call& call) {
  if (options_of(call).threshold == 0) return {};
  const CollectiveTraits& traits = traits_of(call.collective);
  if (!traits.reduces) {
    return refuse(
        fmt::format("blocks.threshold leaves out terms of a sum, and {} has none: it must be 0", traits.name));
  }
  if (is_integer(call.dtype)) {
    return refuse(fmt::format("blocks.threshold of {}: the data must be of floating point", to_string(call.dtype)));
  }
  if (call.reduction != Reduction::Sum && call.reduction != Reduction::Avg) {
    return refuse(fmt::format("blocks.threshold leaves out terms of a sum: the reduction is {}, must be sum or avg",
                              to_string(call.reduction)));
  }
  if (call.options.state) return {};
  return refuse("blocks.threshold needs a state, which keeps what stays behind; give one, or threshold=0");
}

Status check_dedicated(const Call& call, Rank size) {
  const SparseBlocks& asked = options_of(call);
  if (!asked.dedicated) return {};
  if (call.collective != Collective::Allreduce) {
    return refuse(fmt::format("blocks.dedicated serves allreduce, not {}: it must be 0", to_string(call.collective)));
  }
  if (asked.aggregators < size) return {};
  return refuse(
      fmt::format("blocks.dedicated=1 needs a rank that is no aggregator: aggregators is {}, on {} ranks at "
                  "most {} are allowed, or 0 for the job's own aggregators",
                  asked.aggregators, size, size - 1));
}

/// Feedback on the positions that bring data. The others have neither data nor a residual.
constexpr Frame feedback_of_data = {.name = "feedback",
                                    .before =
                                        [](GraphBuilder& g) {
                                          if (roles_of(g).brings(g.position())) feedback_frame.before(g);
                                        },
                                    .after =
                                        [](GraphBuilder& g) {
                                          if (roles_of(g).brings(g.position())) feedback_frame.after(g);
                                        }};

/// Into how many parts the data are cut, at borders of blocks. A list of the result is of one part, which knows where
/// each block stands in it.
std::size_t parts_of(const PlanRequest& request, std::size_t blocks) {
  const Call& call = request.call;
  if (call.output_entries.places) return 1;
  const std::size_t parts = number_of_parts(call, call.count, request.hosts.size(), request.chunk_bytes);
  return std::clamp<std::size_t>(blocks, 1, parts);
}

Status check_entries(const Call& call, const Algorithm& algorithm, Rank size) {
  if (!has_entries(call)) return {};
  const SparseBlocks& asked = options_of(call);
  if (&algorithm == &streamed_allreduce || call.collective == Collective::Broadcast) {
    return refuse(
        fmt::format("{} of {} takes no lists of entries; planned_blocks takes them, in allreduce, "
                    "reduce_scatter and allgather",
                    to_string(call.collective), algorithm.name));
  }
  if (asked.block == 0) {
    return refuse("a list of entries needs blocks.block, which says how many elements an entry has: it must not be 0");
  }
  if (asked.threshold > 0) return refuse("blocks.threshold must be 0 if buffers hold entries, which all travel");
  if (call.count % asked.block != 0) {
    return refuse(fmt::format("entries of {}: the count is {}, must be a multiple of that",
                              count_of(asked.block, "element"), call.count));
  }
  const std::size_t places =
      call.count / asked.block * static_cast<std::size_t>(has_blocks(call.collective) ? size : 1);
  if (places > most_blocks_of_a_part) {
    return refuse(fmt::format("{} of {} blocks: places of entries have 32 bits, at most {} are allowed; cut the call",
                              to_string(call.collective), places, most_blocks_of_a_part));
  }
  if (call.input_entries.count < most_blocks_of_a_part) return {};
  return refuse(fmt::format("an input of {} entries: less than {} are allowed; cut the call", call.input_entries.count,
                            most_blocks_of_a_part));
}

}  // namespace

Status check(const Call& call, const Algorithm& algorithm, const Hosts& hosts) {
  if (Status valid = check_threshold(call); !valid) return valid;
  if (Status valid = check_entries(call, algorithm, hosts.size()); !valid) return valid;
  const SparseBlocks& asked = options_of(call);
  const std::size_t length = asked.block > 0 ? asked.block : least_length;
  if (call.count / length >= most_blocks_of_a_part) {
    return refuse(fmt::format("blocks of {} elements: {} elements make more than {} blocks; blocks must be longer",
                              length, call.count, most_blocks_of_a_part));
  }
  if (has_blocks(call.collective) && asked.aggregators != 0 && asked.aggregators < hosts.size()) {
    return refuse(fmt::format("blocks.aggregators is {}: in {} each rank adds up its own block; it must be 0",
                              asked.aggregators, to_string(call.collective)));
  }
  if (Status valid = check_dedicated(call, hosts.size()); !valid) return valid;
  constexpr auto most = static_cast<Rank>(kernels::Backend::most_views);
  if (hosts.size() <= most || !traits_of(call.collective).reduces) return {};
  return refuse(fmt::format("{} adds up the blocks of all ranks at once: {} ranks, at most {} are allowed",
                            algorithm.name, hosts.size(), most));
}

/// The job's aggregators serve allreduce, unless the call names ranks that are to add up.
Result<bool> aggregates(const Call& call, Rank aggregators) {
  const SparseBlocks& asked = options_of(call);
  if (call.collective != Collective::Allreduce || asked.aggregators > 0) return false;
  if (aggregators > 0 || !asked.dedicated) return aggregators > 0;
  return refuse(
      "blocks.dedicated=1 needs aggregators, and this job has none: start it by `lacuna launch --aggregators "
      "N`, or let the last N ranks do nothing else by aggregators=N");
}

namespace {

/// The data in parts, which are cut at borders of blocks.
void plan_parts(const PlanRequest& request, PartPlan part, Plan& plan) {
  const Call& call = request.call;
  const std::size_t block = part.arguments.as<Arguments>().block, blocks = (call.count + block - 1) / block;
  const std::size_t parts = parts_of(request, blocks);
  Form form = part.structure.parameters.as<Form>();
  const bool counts = form.counts;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = boundary(i, blocks, parts) * block;
    const std::size_t end = std::min(boundary(i + 1, blocks, parts) * block, call.count);
    part.data = {begin, end - begin};
    part.draw = static_cast<std::uint32_t>(i);
    form.counts = counts && i % parts_for_a_count(parts) == 0;
    part.structure.parameters = form;
    plan.parts.push_back(part);
  }
  plan.in_flight = parts_in_flight;
}

/// A part for each slot that has a block. All of them work on all data, which the first one carries for reports.
void plan_slots(const PlanRequest& request, PartPlan part, Plan& plan) {
  const Call& call = request.call;
  const SparseBlocks& asked = options_of(call);
  const Form form = part.structure.parameters.as<Form>();
  const Roles roles = roles_of(form, call.collective, request.hosts.size());
  const std::size_t block = part.arguments.as<Arguments>().block, blocks = (call.count + block - 1) / block;
  const auto columns = static_cast<std::uint32_t>(asked.columns);
  const std::size_t wanted = static_cast<std::size_t>(asked.slots > 0 ? asked.slots : slots_of_an_owner * roles.owners);
  const std::size_t slots = std::clamp<std::size_t>((blocks + columns - 1) / columns, 1, wanted);
  part.data = {0, call.count};
  StreamArguments arguments{{block}, columns, static_cast<std::uint32_t>(slots)};
  for (; arguments.slot < slots; ++arguments.slot) {
    const Rank owner = roles.first_owner() + static_cast<Rank>(arguments.slot) % roles.owners;
    part.structure.parameters = StreamForm{form, owner, true, asked.burst};
    part.arguments = arguments;
    part.draw = arguments.slot;
    part.beside = arguments.slot > 0;
    plan.parts.push_back(part);
  }
  plan.in_flight = arguments.slots;
}

}  // namespace

void plan(const PlanRequest& request, Plan& plan) {
  const Call& call = request.call;
  const SparseBlocks& asked = options_of(call);
  const bool has_threshold = asked.threshold > 0;
  const bool counts = counts_next(request);
  const std::size_t length = length_of_next(request);
  const std::size_t longest = std::max<std::size_t>(call.count, 1);  // memory is taken for whole blocks
  PartPlan part{.outcome = 1, .lossy = true, .arguments = Arguments{.block = std::min(length, longest)}};
  Form form{.owners = request.aggregators,
            .dedicated = request.aggregators > 0,
            .counts = counts,
            .listed = call.output_entries.places != nullptr,
            .keeps = has_threshold};
  if (request.aggregators == 0) {
    form.owners = asked.aggregators < request.hosts.size() ? asked.aggregators : 0;
    form.dedicated = asked.dedicated;
  }
  part.structure.parameters = form;
  if (&request.algorithm == &streamed_allreduce) {
    plan_slots(request, part, plan);  // each slot keeps its blocks of the residual itself
  } else {
    if (has_threshold) part.structure.frame = &feedback_of_data;
    plan_parts(request, part, plan);
  }
  plan.reports = true;
  plan.writes_state = has_threshold || counts;
  plan.measures.tell(measure::block, static_cast<double>(length));
}

/// A slot goes on while any of its columns is asked for.
std::optional<PartPlan> follow(const Followed& part) {
  if (part.values.empty() || part.values[0] == 0) return {};
  PartPlan next = part.part;
  StreamForm form = next.structure.parameters.as<StreamForm>();
  form.begins = false;
  next.structure.parameters = form;
  return next;
}

}  // namespace lacuna::block
