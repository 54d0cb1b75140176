#include "algorithms/topk/running_sum.hpp"

#include <utility>

#include "algorithms/topk/selecting.hpp"

namespace lacuna {
namespace {

/// Adds a message of another rank to the own sum.
struct AddPair {
  static constexpr std::string_view name = "add messages";
  Read own, other;
  CappedSum sum;
  Rank from;
  bool is_last;  ///< the sum is the result, and is scaled

  Status operator()(const KernelCall& call) const {
    const sparse::Range all = sparse::all_places(call.part);
    sparse::Views views = sparse::Views::of(sum.rooms, call.part, all);
    Status sound = views.add_message(call, *own, call.part.position, all);
    if (sound) sound = views.add_message(call, *other, from, all);
    if (!sound) return sound;
    const Scale scale = is_last ? sparse::scale_of(call.part) : Scale();
    return merge_capped(call, sum, views, all, scale, sparse::arguments_of(call.part).wanted);
  }
};

}  // namespace

void RunningSum::make_rooms() {
  rooms_ = sparse::merge_rooms(g_);
  next_ = sparse::message_room(g_);
  other_ = sparse::message_room(g_);
  cap_rooms_ = cap_rooms(g_);
}

void RunningSum::add(Rank from) {
  if (!rooms_) make_rooms();
  const Region there = sparse::receive_message(g_, from);
  const sparse::WriteMessage sum = sparse::message_in(g_, next_);
  g_.kernel(AddPair{.own = sum_,
                    .other = there,
                    .sum = {.rooms = *rooms_, .cap = cap_rooms_, .message = sum},
                    .from = from,
                    .is_last = --terms_ == 0});
  sum_ = sum.region();
  std::swap(next_, other_);
}

}  // namespace lacuna
