#pragma once

#include <set>

#include "tests/algorithms/topk/sparse_rig.hpp"
#include "tests/support/oracle.hpp"

namespace lacuna::test {

/// What a run of ok_topk must leave, by the definitions of its paper.
struct OkExpected {
  std::vector<std::set<std::size_t>> selected;  // by rank
  std::vector<float> sum, result;               // of what is selected
  Vectors residuals;
};

/// Ranks that call ok_topk, and beside them its definitions: exact selections every tau' runs, thresholds between.
class OkRig : public SparseRig {
 public:
  OkRig(Rank size, std::size_t k, std::uint64_t tau_prime, std::string options = {},
        const RanksOptions& with = {.network = {}, .executor = quick_executor()})
      : SparseRig(size, with), k_(k), tau_prime_(tau_prime), options_(std::move(options)) {
    method = "ok_topk";
    if (!options_.empty()) options_.insert(0, ",");
    const std::size_t at = options_.find(",tau=");
    if (at != std::string::npos) tau_ = std::stoull(options_.substr(at + 5));
  }

  double number(std::size_t rank, std::string_view name) const {
    const StateArray* array = states[rank].find(name);
    double value = std::nan("");
    if (array) std::memcpy(&value, array->bytes.data(), sizeof(value));
    return value;
  }
  double local(std::size_t rank) const { return number(rank, "local_threshold"); }
  double global() const { return number(0, "global_threshold"); }
  /// Does the next run select exactly?
  bool reevaluates() const { return states[0].runs % tau_prime_ == 0 || std::isnan(global()); }

  /// The next run, of the residuals and thresholds that there are.
  OkExpected expected(const Vectors& inputs) const {
    OkExpected all;
    Vectors sent;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      const std::vector<float> acc = accumulated(inputs, rank);
      sent.push_back(only(acc, reevaluates() ? largest_places(acc, k_) : by_threshold(acc, rank)));
      all.selected.push_back(places_of(sent.back()));
    }
    all.sum = sum_of(sent);
    all.result = only(all.sum, reevaluates() ? largest_places(all.sum, k_) : above(all.sum, global()));
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      all.residuals.push_back(accumulated(inputs, rank));
      for (std::size_t place : all.selected[rank]) {
        if (all.result[place] != 0) all.residuals.back()[place] = 0;
      }
    }
    return all;
  }

  /// The next run, which must leave that; empty, or what it did else.
  std::string run_as_expected(const Vectors& inputs) {
    const OkExpected expected = this->expected(inputs);
    const std::vector<std::int64_t> bins = repartitions() ? histogram(expected, inputs[0].size()) : kept_histogram(0);
    const std::string ended = run_next(inputs);
    if (!ended.empty()) return ended;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      if (outputs[rank] != expected.result) return fmt::format("rank {}: another result", rank);
      if (residual(rank) != expected.residuals[rank]) return fmt::format("rank {}: another residual", rank);
      if (!same(number(rank, "global_threshold"), global()))
        return fmt::format("rank {}: a threshold of its own", rank);
      if (kept_histogram(rank) != bins) return fmt::format("rank {}: another histogram", rank);
    }
    return {};
  }
  std::string run_next(const Vectors& inputs) {
    return run(inputs, "ok_topk", fmt::format("k={},tau_prime={}{}", k_, tau_prime_, options_));
  }

  /// Counts of all ranks' selections, in as many bins as the state's array has.
  std::vector<std::int64_t> histogram(const OkExpected& run, std::size_t count) const {
    std::vector<std::int64_t> bins(64);
    for (const auto& places : run.selected) {
      for (std::size_t place : places) ++bins[place * bins.size() / count];
    }
    return bins;
  }
  std::vector<std::int64_t> kept_histogram(std::size_t rank) const {
    const StateArray* array = states[rank].find("histogram");
    std::vector<std::int64_t> bins(array ? array->count() : 0);
    if (array) std::memcpy(bins.data(), array->bytes.data(), array->bytes.size());
    return bins;
  }
  /// Where the range of each rank begins, and the last one ends: as many entries in each, if they are spread evenly in
  /// their bin.
  std::vector<std::size_t> ranges(std::size_t count) const {
    const std::vector<std::int64_t> bins = kept_histogram(0);
    const auto all = static_cast<std::size_t>(std::accumulate(bins.begin(), bins.end(), std::int64_t{0}));
    const std::size_t parts = states.size();
    std::vector<std::size_t> begins = {0};
    for (std::size_t i = 1; i < parts; ++i) {
      const std::size_t wanted = i * all / parts;
      std::size_t passed = 0, bin = 0;
      while (passed + static_cast<std::size_t>(bins[bin]) < wanted) passed += static_cast<std::size_t>(bins[bin++]);
      const std::size_t begin = bin * count / bins.size(), end = (bin + 1) * count / bins.size();
      const auto here = static_cast<std::size_t>(bins[bin]);
      begins.push_back(all == 0 ? i * count / parts : begin + (here ? (wanted - passed) * (end - begin) / here : 0));
    }
    begins.push_back(count);
    return begins;
  }
  /// What of these places lies in the range of a rank.
  static std::size_t within(const std::set<std::size_t>& places, const std::vector<std::size_t>& begins,
                            std::size_t rank) {
    return static_cast<std::size_t>(
        std::distance(places.lower_bound(begins[rank]), places.lower_bound(begins[rank + 1])));
  }
  /// Bytes of payload that each rank has sent in a run by coordinates, which has ended.
  std::vector<std::uint64_t> sent_by_definition(const OkExpected& run, bool exactly, bool cut_anew, bool weighs,
                                                bool balances) const {
    const std::size_t p = states.size();
    const std::vector<std::size_t> begins = ranges(run.result.size());
    const std::set<std::size_t> result = places_of(exactly ? run.sum : run.result);
    std::vector<std::size_t> before_range = {0};
    for (std::size_t i = 0; i < p; ++i) before_range.push_back(before_range.back() + within(result, begins, i));
    const auto share = [&](std::size_t i) { return exact_boundary(i, result.size(), p); };
    const auto bins = [&](std::size_t i) { return 8 * (exact_boundary(i + 1, 64, p) - exact_boundary(i, 64, p)); };
    std::vector<std::uint64_t> all;
    for (std::size_t rank = 0; rank < p; ++rank) {
      std::uint64_t bytes = cut_anew && p > 1 ? 2 * 8 * 64 - bins(rank) - bins((rank + 1) % p) : 0;
      for (std::size_t other = 0; other < p; ++other) {
        if (other == rank) continue;
        bytes += message(within(run.selected[rank], begins, other));
        if (weighs) bytes += 8;
        const std::size_t first = std::max(before_range[rank], share(other)),
                          last = std::min(before_range[rank + 1], share(other + 1));
        if (balances && last > first) bytes += message(last - first);
        bytes += message(balances ? share(rank + 1) - share(rank) : within(result, begins, rank));
      }
      all.push_back(bytes);
    }
    return all;
  }
  static constexpr std::uint64_t message(std::size_t entries) { return 16 + 8 * entries; }

  bool repartitions() const { return states[0].runs % tau_ == 0 || !states[0].find("histogram"); }
  std::size_t room() const { return k_ + std::max<std::size_t>(k_ / 3, 1); }

  /// What a rank selects between exact selections: first of the range of the rank behind it, at last of its own. It has
  /// room for a third too many: where a range would take more, the largest of it take an even share of what is left.
  std::vector<std::size_t> by_threshold(const std::vector<float>& acc, std::size_t rank) const {
    double threshold = local(rank);
    if (std::isnan(threshold)) {
      threshold = 0;
      const std::vector<std::size_t> largest = largest_places(acc, k_ + 1);
      std::vector<float> magnitudes;
      for (std::size_t place : largest) magnitudes.push_back(std::abs(acc[place]));
      std::sort(magnitudes.rbegin(), magnitudes.rend());
      if (largest.size() > k_) threshold = std::nextafter(magnitudes[k_ - 1], 0.0f);
    }
    const std::vector<std::size_t> begins =
        repartitions() ? std::vector<std::size_t>{0, acc.size()} : ranges(acc.size());
    std::vector<std::size_t> taken;
    const std::size_t most = std::min(room(), acc.size()), count = begins.size() - 1;
    for (std::size_t i = 1; i <= count; ++i) {
      const std::size_t range = (rank + i) % count;
      std::vector<float> here(acc.size());
      std::copy(acc.begin() + static_cast<std::ptrdiff_t>(begins[range]),
                acc.begin() + static_cast<std::ptrdiff_t>(begins[range + 1]),
                here.begin() + static_cast<std::ptrdiff_t>(begins[range]));
      std::vector<std::size_t> more = above(here, threshold);
      if (taken.size() + more.size() > most) more = largest_places(here, (most - taken.size()) / (count + 1 - i));
      taken.insert(taken.end(), more.begin(), more.end());
    }
    return taken;
  }
  std::vector<float> accumulated(const Vectors& inputs, std::size_t rank) const {
    if (!states[rank].find(residual_array)) return inputs[rank];
    std::vector<float> kept(inputs[rank].size());
    std::memcpy(kept.data(), states[rank].find(residual_array)->bytes.data(), 4 * kept.size());
    return sum_of({kept, inputs[rank]});
  }
  static std::vector<std::size_t> above(const std::vector<float>& values, double threshold) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::abs(static_cast<double>(values[i])) > threshold) places.push_back(i);
    }
    return places;
  }
  static std::set<std::size_t> places_of(const std::vector<float>& values) {
    std::set<std::size_t> places;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0) places.insert(i);
    }
    return places;
  }
  static bool same(double a, double b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

 private:
  std::size_t k_;
  std::uint64_t tau_prime_, tau_ = 64;
  std::string options_;
};

/// Whole numbers around 0, the most of them small: magnitudes fall off as in gradients, and few are equal.
inline Vectors gradients(std::size_t ranks, std::size_t count, unsigned seed, double scale = 1000) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Vectors all(ranks, std::vector<float>(count));
  for (auto& one : all) {
    for (float& value : one) value = static_cast<float>(std::round(scale * normal(random) * normal(random)));
  }
  return all;
}

}  // namespace lacuna::test
