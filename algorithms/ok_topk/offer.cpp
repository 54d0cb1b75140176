#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "algorithms/ok_topk/quotas.hpp"
#include "algorithms/ok_topk/state.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::ok {
namespace {

using sparse::ranks_of;

std::size_t words_of_offers(const PartView& part) {
  return ranks_of(part) * words_of_offer(sparse::arguments_of(part).wanted, part.size);
}
std::size_t words_of_sample(const PartView&) { return most_sampled; }
std::size_t words_of_workspace(const PartView& part) { return 2 * ranks_of(part); }

/// The room for the offers of all ranks, in the order of ranks.
constexpr BufferInfo offers_room = {.element = Dtype::I32, .capacity = words_of_offers, .memory = MemoryKind::Host};
constexpr BufferInfo sample_room = {.element = Dtype::I32, .capacity = words_of_sample, .memory = MemoryKind::Host};
constexpr BufferInfo share_out_room = {
    .element = Dtype::I64, .capacity = words_of_workspace, .memory = MemoryKind::Host};

std::span<std::uint32_t> words_in(const Extent& extent) {
  return {reinterpret_cast<std::uint32_t*>(extent.data), extent.count};
}
std::span<std::uint64_t> numbers_in(const Extent& extent) {
  return {reinterpret_cast<std::uint64_t*>(extent.data), extent.count};
}

struct MakeOffer {
  static constexpr std::string_view name = "offer";
  Read sums;  ///< values
  Use count;
  Write offer, sample;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, sparse::measure::select_time);
    make_offer(call.backend, {sums->dtype, sums->data, *count}, words_in(*sample), words_in(*offer),
               sparse::arguments_of(call.part).wanted, call.part.size);
    return {};
  }
};

/// Checks how many sums the ranks say that they have. No rank can have more than all ranks may have selected in one
/// range, and all together no more than all ranks may have selected.
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

/// What Stage::Sums tells the part that follows it.
class ToldSizes {
 public:
  ToldSizes(const Extent& words, const PartView& part) : words_(numbers_in(words)), ranks_(ranks_of(part)) {}

  std::span<std::uint64_t> quotas() const { return words_.first(ranks_); }
  std::uint64_t& selected() const { return words_[ranks_]; }  ///< entries that this rank has selected
  std::uint64_t& sums() const { return words_[ranks_ + 1]; }  ///< sums of this rank
  std::uint64_t total() const {
    std::uint64_t total = 0;
    for (std::uint64_t quota : quotas()) total += quota;
    return total;
  }
  std::uint64_t largest() const { return *std::max_element(quotas().begin(), quotas().end()); }

 private:
  std::span<std::uint64_t> words_;
  std::size_t ranks_;
};

struct ShareOut {
  static constexpr std::string_view name = "share out";
  Read messages;  ///< the offers of all ranks
  Use selected;   ///< entries that this rank has selected
  Write sizes, workspace;
  Define total, largest;

  Status operator()(const KernelCall& call) const {
    const Offers offers{words_in(*messages), sparse::arguments_of(call.part).wanted, call.part.size};
    if (Status sound = check_offers(call, offers); !sound) return sound;
    const ToldSizes told(*sizes, call.part);
    const std::uint32_t least = share_out(offers, told.quotas(), numbers_in(*workspace));
    told.selected() = *selected;
    told.sums() = offers.of(call.part.position)[0];
    *total = told.total();
    *largest = told.largest();
    report(call, measure::global_threshold, number_of_offered(call.part.call.dtype, least));
    return {};
  }
};

struct Recall {
  static constexpr std::string_view name = "recall";
  Read sizes;
  Define selected, sums, quota, total, largest;

  Status operator()(const KernelCall& call) const {
    const ToldSizes told(*sizes, call.part);
    *selected = told.selected();
    *sums = told.sums();
    *quota = told.quotas()[static_cast<std::size_t>(call.part.position)];
    *total = told.total();
    *largest = told.largest();
    return {};
  }
};

}  // namespace

void agree_on_quotas(GraphBuilder& g, const Reduced& reduced) {
  const Region offers = g.buffer(offers_room);
  const auto offer_of = [&](Rank rank) { return sparse::piece_of(offers, rank, g.size()); };
  const Rank me = g.position();
  g.kernel(MakeOffer{.sums = reduced.sums.values,
                     .count = reduced.sums.count,
                     .offer = offer_of(me),
                     .sample = g.buffer(sample_room)});
  for (Rank distance = 1; distance < g.size(); ++distance) {
    g.send(offer_of(me), me + distance);
    const Rank from = (me + g.size() - distance) % g.size();
    g.receive(offer_of(from), from);
  }
  const Value total = g.agreed(), largest = g.agreed();
  g.kernel(ShareOut{.messages = offers,
                    .selected = reduced.mine.count,
                    .sizes = sizes_room(g),
                    .workspace = g.buffer(share_out_room),
                    .total = total,
                    .largest = largest});
  g.decide({total, largest});
}

Told recall(GraphBuilder& g) {
  Told told{
      .reduced = {.mine = shared_selection(g), .ranges = {}, .sums = shared_sums(g)}, .quota = g.value(), .sizes = {}};
  if (form_of(g).stage == Stage::Gather) told.reduced.ranges = last_ranges(g);
  told.reduced.mine.count = g.value();
  told.reduced.sums.count = g.value();
  told.sizes = {.total = g.value(), .largest = g.value()};
  g.kernel(Recall{.sizes = sizes_room(g),
                  .selected = told.reduced.mine.count,
                  .sums = told.reduced.sums.count,
                  .quota = told.quota,
                  .total = told.sizes.total,
                  .largest = told.sizes.largest});
  return told;
}

}  // namespace lacuna::ok
