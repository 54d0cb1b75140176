#include "algorithms/ok_topk/state.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/elements.hpp"

namespace lacuna::ok {
namespace {

constexpr int stage_bit = 12;

std::size_t words_of_threshold(const PartView&) { return threshold_words; }

/// What it was made for, if it is.
std::array<double, threshold_words> threshold_for(const Call& call, Rank size, double threshold) {
  return {threshold, static_cast<double>(entries_asked(call, size)),
          static_cast<double>(call.reduction == Reduction::Avg ? -size : size)};
}

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

Region threshold_room(GraphBuilder& g, std::string_view name) {
  return g.buffer({.role = Role::State,
                   .element = Dtype::F64,
                   .capacity = words_of_threshold,
                   .name = name,
                   .own = name == local_threshold});
}

double load_threshold(const std::byte* array, const Call& call, Rank size) {
  std::array<double, threshold_words> words;
  std::memcpy(words.data(), array, sizeof(words));
  if (words == threshold_for(call, size, words[0])) return words[0];
  return std::numeric_limits<double>::quiet_NaN();
}

void store_threshold(const Extent& array, const PartView& part, double threshold) {
  const auto words = threshold_for(part.call, part.size, threshold);
  std::memcpy(array.data, words.data(), sizeof(words));
}

double threshold_of(Dtype dtype, const kernels::Cut& cut) {
  return kernels::number_of_magnitude(dtype, cut.above - (cut.ties > 0 ? 1 : 0));
}

kernels::Cut cut_above(Dtype dtype, double threshold) { return {.above = kernels::magnitude_of(dtype, threshold)}; }

}  // namespace lacuna::ok
