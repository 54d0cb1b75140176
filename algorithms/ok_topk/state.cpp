#include "algorithms/ok_topk/state.hpp"

#include <algorithm>
#include <bit>

namespace lacuna::ok {
namespace {

Region partition_of(GraphBuilder& g) {
  return g.buffer({.role = Role::State,
                   .element = Dtype::I64,
                   .capacity = [](const PartView& part) { return words_of_partition(sparse::places_of(part)); },
                   .name = partition,
                   .own = false,
                   .memory = MemoryKind::Host});
}

/// Returns a buffer that all parts of a run share. If the run has one part only, the buffer is that part's own.
Region shared(GraphBuilder& g, BufferInfo info) {
  if (form_of(g).stage == Stage::Whole) {
    info.name = {};
  } else {
    info.role = Role::Run;
  }
  return g.buffer(info);
}

sparse::Selection shared_list(GraphBuilder& g, std::size_t (*most)(const PartView& part), std::string_view places,
                              std::string_view values) {
  return {.places = shared(g, {.element = Dtype::I32, .capacity = most, .name = places}),
          .values = shared(g, {.capacity = most, .name = values})};
}

/// There is one word for each rank, and two more.
std::size_t words_of_sizes(const PartView& part) { return static_cast<std::size_t>(part.size) + 2; }

}  // namespace

int bins_of(std::size_t places) {
  constexpr std::size_t least = 32, most = 2048, places_of_bin = 2048;
  return static_cast<int>(std::clamp(std::bit_floor(places / places_of_bin), least, most));
}

std::size_t words_of_partition(std::size_t places) { return 2 * static_cast<std::size_t>(bins_of(places)); }

std::size_t entries_asked(const Call& call, Rank size) {
  const OkTopk& asked = options_of(call);
  return sparse::entries_asked(asked.density, asked.k, input_length(call, size));
}

sparse::Selection shared_selection(GraphBuilder& g) {
  return shared_list(g, sparse::most_selected, "selected places", "selected values");
}

sparse::Selection shared_sums(GraphBuilder& g) {
  return shared_list(g, sparse::most_merged, "places of sums", "values of sums");
}

Region sizes_room(GraphBuilder& g) {
  return g.buffer({.role = Role::Run,
                   .element = Dtype::I64,
                   .capacity = words_of_sizes,
                   .name = "sizes",
                   .memory = MemoryKind::Host});
}

Region repartition(GraphBuilder& g, const sparse::Selection& mine) {
  sparse::partition_by_load(g, mine, partition_of(g));
  return last_ranges(g);
}

Region last_ranges(GraphBuilder& g) { return sparse::ranges_by(g, partition_of(g)); }

}  // namespace lacuna::ok
