#include "algorithms/ok_topk/state.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/elements.hpp"

namespace lacuna::ok {
namespace {

constexpr int stage_bit = 12, bucket_bit = 16;

std::size_t one(const PartView&) { return 1; }

Region histogram_of(GraphBuilder& g) {
  BufferInfo info = sparse::histogram_room;
  info.role = Role::State;
  info.name = histogram;
  info.own = false;
  return g.buffer(info);
}

}  // namespace

int form_of(int flags, Stage stage, int bucket) {
  return flags | static_cast<int>(stage) << stage_bit | bucket << bucket_bit;
}

int with_stage(int form, Stage stage) { return (form & ~(3 << stage_bit)) | static_cast<int>(stage) << stage_bit; }

Stage stage_of(const GraphBuilder& g) { return static_cast<Stage>(g.number(sparse::flags) >> stage_bit & 3); }

Rank bucket_of(const GraphBuilder& g) { return std::max(g.number(sparse::flags) >> bucket_bit, 1); }

int bins_of(std::size_t places) {
  constexpr std::size_t least = 64, most = 4096, places_of_bin = 1024;
  return static_cast<int>(std::clamp(std::bit_floor(places / places_of_bin), least, most));
}

std::size_t entries_asked(const PartView& part) {
  const OkTopk& asked = options_of(part.call);
  return sparse::entries_asked(asked.density, asked.k, sparse::places_of(part));
}

void repartition(GraphBuilder& g, const sparse::Selection& mine) { sparse::reduce_histogram(g, mine, histogram_of(g)); }

Region ranges_of(GraphBuilder& g) { return sparse::ranges_by(g, histogram_of(g), has(g, repartitions)); }

Region threshold_room(GraphBuilder& g, std::string_view name) {
  return g.buffer(
      {.role = Role::State, .element = Dtype::F64, .capacity = one, .name = name, .own = name == local_threshold});
}

double load_threshold(const Extent& array) {
  double threshold;
  std::memcpy(&threshold, array.data, sizeof(threshold));
  return threshold;
}

void store_threshold(const Extent& array, double threshold) { std::memcpy(array.data, &threshold, sizeof(threshold)); }

double threshold_of(Dtype dtype, const kernels::Cut& cut) {
  return kernels::number_of_magnitude(dtype, cut.above - (cut.ties > 0 ? 1 : 0));
}

kernels::Cut cut_above(Dtype dtype, double threshold) { return {.above = kernels::magnitude_of(dtype, threshold)}; }

}  // namespace lacuna::ok
