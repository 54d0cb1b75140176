#include "algorithms/topk/running_sum.hpp"

#include <utility>

#include "algorithms/topk/selecting.hpp"

namespace lacuna {
namespace {

/// Adds a message of rank given[0] to the own sum. If given[1] is not 0 the sum is the result, and is scaled.
Status add_pair(const KernelCall& call) {
  const sparse::Range all = sparse::piece_range(call.part, 0, 1);
  sparse::Views views = sparse::Views::of(call, all);
  Status sound = views.add_message(call, call.reads[0], call.part.position, all);
  if (sound) sound = views.add_message(call, call.reads[1], static_cast<Rank>(call.given[0]), all);
  if (!sound) return sound;
  const Scale scale = call.given[1] ? sparse::scale_of(call.part) : Scale();
  if (!sparse::form_of(call.part).capped) return sparse::merge(call, views, all, scale);
  return merge_capped(call, views, all, scale, sparse::arguments_of(call.part).wanted);
}
constexpr Kernel add_pair_kernel = {"add messages", add_pair};

}  // namespace

void RunningSum::make_rooms() {
  rooms_ = sparse::merge_rooms(g_);
  other_ = sparse::message_room(g_);
  if (!sparse::form_of(g_).capped) return;
  cap_rooms_ = sparse::joined(cap_rooms(g_), sparse::whole_array(g_, residual_array));
}

void RunningSum::add(Rank from) {
  if (!rooms_) make_rooms();
  const Region there = sparse::receive_message(g_, from);
  const Value bytes = g_.value();
  g_.kernel(add_pair_kernel, {.reads = {sum_, there},
                              .writes = sparse::joined(rooms_->regions(), cap_rooms_),
                              .defines = {bytes},
                              .given = {from, --terms_ == 0}});
  sum_ = GraphBuilder::counted(rooms_->message, bytes);
  std::swap(rooms_->message, other_);
}

}  // namespace lacuna
