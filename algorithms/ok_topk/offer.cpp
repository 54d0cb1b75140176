#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "algorithms/ok_topk/quotas.hpp"
#include "algorithms/ok_topk/state.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::ok {
namespace {

std::size_t ranks_of(const PartView& part) { return static_cast<std::size_t>(part.size); }
std::size_t words_of_offers(const PartView& part) {
  return ranks_of(part) * words_of_offer(sparse::arguments_of(part).wanted, part.size);
}
std::size_t words_of_sample(const PartView&) { return most_sampled; }
std::size_t words_of_workspace(const PartView& part) { return 2 * ranks_of(part); }

/// Of all ranks, in their order.
constexpr BufferInfo offers_room = {.element = Dtype::I32, .capacity = words_of_offers};
constexpr BufferInfo sample_room = {.element = Dtype::I32, .capacity = words_of_sample};
constexpr BufferInfo share_out_room = {.element = Dtype::I64, .capacity = words_of_workspace};

std::span<std::uint32_t> words_in(const Extent& extent) {
  return {reinterpret_cast<std::uint32_t*>(extent.data), extent.count};
}
std::span<std::uint64_t> numbers_in(const Extent& extent) {
  return {reinterpret_cast<std::uint64_t*>(extent.data), extent.count};
}

Status offer(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::measure::select_time);
  const Extent& values = call.reads[0];
  make_offer(values.dtype, values.data, call.uses[0], words_in(call.writes[1]), words_in(call.writes[0]),
             sparse::arguments_of(call.part).wanted, call.part.size);
  return {};
}

/// No rank has more sums than all ranks may have selected in a range, nor all of them more than in all.
Status check_offers(const KernelCall& call, const Offers& offers) {
  std::uint64_t left = ranks_of(call.part) * sparse::most_selected(call.part);
  for (Rank rank = 0; rank < call.part.size; ++rank) {
    const std::uint64_t sums = offers.of(rank)[0], most = std::min<std::uint64_t>(left, sparse::most_merged(call.part));
    if (sums > most) {
      return {Code::Mismatch, fmt::format("the message of rank {}: an offer of {}, must be 0 .. {}", rank,
                                          count_of(sums, "sum"), most)};
    }
    left -= sums;
  }
  return {};
}

/// uses: how many entries the rank has selected.
Status share_out_sums(const KernelCall& call) {
  const Offers offers{words_in(call.reads[0]), sparse::arguments_of(call.part).wanted, call.part.size};
  if (Status sound = check_offers(call, offers); !sound) return sound;
  const std::span<std::uint64_t> sizes = numbers_in(call.writes[0]), quotas = sizes.first(ranks_of(call.part));
  const std::uint32_t least = share_out(offers, quotas, numbers_in(call.writes[1]));
  sizes[ranks_of(call.part)] = call.uses[0];
  sizes[ranks_of(call.part) + 1] = offers.of(call.part.position)[0];
  call.defines[0] = 0;
  for (std::uint64_t quota : quotas) call.defines[0] += quota;
  call.defines[1] = *std::max_element(quotas.begin(), quotas.end());
  report(call, measure::global_threshold, number_of_offered(call.part.call.dtype, least));
  return {};
}

Status recall_sizes(const KernelCall& call) {
  const std::span<const std::uint64_t> sizes = numbers_in(call.reads[0]), quotas = sizes.first(ranks_of(call.part));
  call.defines[0] = sizes[ranks_of(call.part)];
  call.defines[1] = sizes[ranks_of(call.part) + 1];
  call.defines[2] = quotas[static_cast<std::size_t>(call.part.position)];
  call.defines[3] = 0;
  for (std::uint64_t quota : quotas) call.defines[3] += quota;
  call.defines[4] = *std::max_element(quotas.begin(), quotas.end());
  return {};
}

constexpr Kernel offer_kernel = {"offer", offer}, share_out_kernel = {"share out", share_out_sums},
                 recall_kernel = {"recall", recall_sizes};

}  // namespace

void agree_on_quotas(GraphBuilder& g, const Reduced& reduced) {
  const Region offers = g.buffer(offers_room);
  const auto offer_of = [&](Rank rank) { return sparse::piece_of(offers, rank, g.size()); };
  const Rank me = g.position();
  g.kernel(
      offer_kernel,
      {.reads = {reduced.sums.values}, .writes = {offer_of(me), g.buffer(sample_room)}, .uses = {reduced.sums.count}});
  for (Rank distance = 1; distance < g.size(); ++distance) {
    g.send(offer_of(me), me + distance);
    const Rank from = (me + g.size() - distance) % g.size();
    g.receive(offer_of(from), from);
  }
  const Value total = g.agreed(), largest = g.agreed();
  g.kernel(share_out_kernel, {.reads = {offers},
                              .writes = {sizes_room(g), g.buffer(share_out_room)},
                              .uses = {reduced.mine.count},
                              .defines = {total, largest}});
  g.decide({total, largest});
}

Told recall(GraphBuilder& g) {
  Told told{
      .reduced = {.mine = shared_selection(g), .ranges = {}, .sums = shared_sums(g)}, .quota = g.value(), .sizes = {}};
  if (form_of(g).stage == Stage::Gather) told.reduced.ranges = last_ranges(g);
  told.reduced.mine.count = g.value();
  told.reduced.sums.count = g.value();
  told.sizes = {.total = g.value(), .largest = g.value()};
  g.kernel(recall_kernel, {.reads = {sizes_room(g)},
                           .defines = {told.reduced.mine.count, told.reduced.sums.count, told.quota, told.sizes.total,
                                       told.sizes.largest}});
  return told;
}

}  // namespace lacuna::ok
