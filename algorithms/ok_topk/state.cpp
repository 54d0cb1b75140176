#include "algorithms/ok_topk/state.hpp"

#include <algorithm>
#include <bit>

namespace lacuna::ok {
namespace {

constexpr int stage_bit = 12;

Region histogram_of(GraphBuilder& g) {
  BufferInfo info = sparse::histogram_room;
  info.role = Role::State;
  info.name = histogram;
  info.own = false;
  return g.buffer(info);
}

}  // namespace

int with_stage(int flags, Stage stage) { return (flags & ~(3 << stage_bit)) | static_cast<int>(stage) << stage_bit; }

Stage stage_of(const Structure& structure) {
  return static_cast<Stage>(structure.numbers[sparse::flags] >> stage_bit & 3);
}

Stage stage_of(const GraphBuilder& g) { return static_cast<Stage>(g.number(sparse::flags) >> stage_bit & 3); }

int bins_of(std::size_t places) {
  constexpr std::size_t least = 64, most = 4096, places_of_bin = 1024;
  return static_cast<int>(std::clamp(std::bit_floor(places / places_of_bin), least, most));
}

std::size_t entries_asked(const Call& call, Rank size) {
  const OkTopk& asked = options_of(call);
  return sparse::entries_asked(asked.density, asked.k, input_length(call, size));
}

Region repartition(GraphBuilder& g, const sparse::Selection& mine) {
  sparse::reduce_histogram(g, mine, histogram_of(g));
  return sparse::ranges_by(g, histogram_of(g), true);
}

Region last_ranges(GraphBuilder& g) { return sparse::ranges_by(g, histogram_of(g), false); }

}  // namespace lacuna::ok
