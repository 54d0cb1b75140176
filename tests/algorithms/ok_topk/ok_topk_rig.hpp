#pragma once

#include <set>

#include "tests/algorithms/topk/sparse_rig.hpp"
#include "tests/support/oracle.hpp"

namespace lacuna::test {

/// What a run of ok_topk must leave, by the definitions of its paper.
struct OkExpected {
  bool exactly;                                 // is it to select exactly?
  Vectors accumulated;                          // before it
  std::vector<std::set<std::size_t>> selected;  // by rank
  std::vector<float> sum, result;               // of what is selected
  Vectors residuals;
};

/// Ranks that call ok_topk, and beside them its definitions: exact selections every tau' runs; between them thresholds
/// of what each rank selects, and quotas of the sums that it brings to the result.
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
  /// Does the next run select exactly?
  bool reevaluates() const { return states[0].runs % tau_prime_ == 0; }

  /// The next run, of the residuals, thresholds and ranges that there are. Where it lays ranges anew, finish() must
  /// tell the rest once it has ended.
  OkExpected expected(const Vectors& inputs) const {
    OkExpected all{
        .exactly = reevaluates(), .accumulated = {}, .selected = {}, .sum = {}, .result = {}, .residuals = {}};
    Vectors sent;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      all.accumulated.push_back(accumulated(inputs, rank));
      const std::vector<float>& acc = all.accumulated.back();
      sent.push_back(only(acc, all.exactly ? largest_places(acc, k_) : by_threshold(acc, rank)));
      all.selected.push_back(places_of(sent.back()));
    }
    all.sum = sum_of(sent);
    finish(all);
    return all;
  }
  /// What of its sums is in the result, by the ranges that there are now, and what stays.
  void finish(OkExpected& run) const {
    run.result = only(run.sum, run.exactly ? largest_places(run.sum, k_) : by_quotas(run));
    run.residuals = run.accumulated;
    for (std::size_t rank = 0; rank < run.residuals.size(); ++rank) {
      for (std::size_t place : run.selected[rank]) {
        if (run.result[place] != 0) run.residuals[rank][place] = 0;
      }
    }
  }

  /// The next run, which must leave that; empty, or what it did else.
  std::string run_as_expected(const Vectors& inputs) {
    OkExpected expected = this->expected(inputs);
    const bool cut_anew = repartitions();
    const std::vector<std::int64_t> last = partition(0);
    const std::string ended = run_next(inputs);
    if (!ended.empty()) return ended;
    finish(expected);
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      if (outputs[rank] != expected.result) return fmt::format("rank {}: another result", rank);
      if (residual(rank) != expected.residuals[rank]) return fmt::format("rank {}: another residual", rank);
      if (partition(rank) != partition(0)) return fmt::format("rank {}: a partition of its own", rank);
    }
    if (cut_anew) return uneven_ranges(expected);
    return partition(0) == last ? "" : "another partition, before its time";
  }
  std::string run_next(const Vectors& inputs) {
    return run(inputs, "ok_topk", fmt::format("k={},tau_prime={}{}", k_, tau_prime_, options_));
  }

  /// The state's: how many stretches there are, then where each of them ends but the last.
  std::vector<std::int64_t> partition(std::size_t rank) const {
    const StateArray* array = states[rank].find("partition");
    std::vector<std::int64_t> words(array ? array->count() : 0);
    if (array) std::memcpy(words.data(), array->bytes.data(), array->bytes.size());
    return words;
  }
  /// Where the range of each rank begins, and the last one ends: as many stretches in each, a share of one where they
  /// are not a multiple of the ranks.
  std::vector<std::size_t> ranges(std::size_t count) const {
    std::vector<std::int64_t> ends = partition(0);
    const std::size_t parts = states.size(), stretches = ends.empty() ? 0 : static_cast<std::size_t>(ends[0]);
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < parts; ++i) {
      const auto end = [&](std::size_t at) {
        return at == 0 ? 0 : at == stretches ? count : static_cast<std::size_t>(ends[at]);
      };
      const std::size_t at = i * stretches / parts, rest = i * stretches % parts;
      const std::size_t more = rest == 0 ? 0 : (end(at + 1) - end(at)) * rest / parts;
      begins.push_back(stretches == 0 ? i * count / parts : end(at) + more);
    }
    begins.push_back(count);
    return begins;
  }
  /// Empty, or which range holds more than a tenth above the mean of what all ranks have selected, beside what stands
  /// in one place. Of fewer entries than ranks nothing is promised.
  std::string uneven_ranges(const OkExpected& run) const {
    const std::size_t p = states.size();
    std::size_t all = 0;
    for (const auto& places : run.selected) all += places.size();
    if (all < 10 * p * (p - 1)) return {};
    const std::vector<std::size_t> begins = ranges(run.result.size());
    for (std::size_t owner = 0; owner < p; ++owner) {
      std::size_t load = 0;
      for (const auto& places : run.selected) load += within(places, begins, owner);
      if (10 * p * load > 11 * all + 10 * p * p)
        return fmt::format("range {} holds {} of {} entries", owner, load, all);
    }
    return {};
  }
  /// By the definition of phases/sparse_histogram.hpp: 32 bins, in which a range that ends within them may be off by a
  /// 20th of what it holds.
  std::size_t words_of_samples(const OkExpected& run) const {
    const std::size_t p = states.size(), count = run.result.size(), bins = 32;
    std::vector<std::size_t> entries(bins), skews(bins);
    std::size_t all = 0, words = 0, passed = 0;
    const auto border = [&](std::size_t bin) { return (bin * count + bins - 1) / bins; };
    for (const auto& places : run.selected) {
      for (std::size_t bin = 0; bin < bins; ++bin) {
        const auto share = static_cast<double>(border(bin + 1) - border(bin));
        const double here = static_cast<double>(between(places, border(bin), border(bin + 1)));
        double most = 0;
        for (std::size_t at = border(bin); at <= border(bin + 1) && share > 0; ++at) {
          const double even = here * static_cast<double>(at - border(bin)) / share;
          most = std::max(most, std::abs(static_cast<double>(between(places, border(bin), at)) - even));
        }
        entries[bin] += static_cast<std::size_t>(here);
        skews[bin] += static_cast<std::size_t>(std::ceil(most - 1e-9));
        all += static_cast<std::size_t>(here);
      }
    }
    for (std::size_t bin = 0; bin < bins && all >= 10 * p * (p - 1); passed += entries[bin++]) {
      bool ends_here = false;
      for (std::size_t i = 1; i < p; ++i) {
        ends_here = ends_here || (i * all / p > passed && i * all / p < passed + entries[bin]);
      }
      if (!ends_here || 20 * p * skews[bin] <= all) continue;
      words += 1 + std::min((20 * p * entries[bin] + all - 1) / all, border(bin + 1) - border(bin));
    }
    return words;
  }
  /// What of these places lies in the range of a rank.
  static std::size_t within(const std::set<std::size_t>& places, const std::vector<std::size_t>& begins,
                            std::size_t rank) {
    return between(places, begins[rank], begins[rank + 1]);
  }
  static std::size_t between(const std::set<std::size_t>& places, std::size_t begin, std::size_t end) {
    return static_cast<std::size_t>(std::distance(places.lower_bound(begin), places.lower_bound(end)));
  }
  /// Bytes of payload that each rank has sent in a run by coordinates, which has ended.
  std::vector<std::uint64_t> sent_by_definition(const OkExpected& run, bool exactly, bool cut_anew,
                                                bool balances) const {
    const std::size_t p = states.size();
    const std::vector<std::size_t> begins = ranges(run.result.size());
    const std::set<std::size_t> result = places_of(exactly ? run.sum : run.result);
    std::vector<std::size_t> before_range = {0};
    for (std::size_t i = 0; i < p; ++i) before_range.push_back(before_range.back() + within(result, begins, i));
    const auto share = [&](std::size_t i) { return exact_boundary(i, result.size(), p); };
    constexpr std::size_t words = 2 * 32;  // of the histogram
    const auto bins = [&](std::size_t i) {
      return 8 * (exact_boundary(i + 1, words, p) - exact_boundary(i, words, p));
    };
    const std::size_t samples = cut_anew ? 4 * words_of_samples(run) : 0;
    std::vector<std::uint64_t> all;
    for (std::size_t rank = 0; rank < p; ++rank) {
      std::uint64_t bytes = cut_anew && p > 1 ? 2 * 8 * words - bins(rank) - bins((rank + 1) % p) : 0;
      for (std::size_t other = 0; other < p; ++other) {
        if (other == rank) continue;
        bytes += message(within(run.selected[rank], begins, other));
        bytes += samples + (exactly ? 0 : 4 + 4 * steps().size());
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

  /// How many sums there are up to the end of each step of an offer.
  std::vector<std::size_t> steps() const {
    const std::size_t p = states.size(), quarter = (k_ + 4 * p - 1) / (4 * p);
    std::vector<std::size_t> ends;
    for (std::size_t end = 0; end < k_; ends.push_back(end)) {
      end = std::min(k_, end + (ends.size() < 8 ? quarter : end / 4));
    }
    return ends;
  }
  /// The result of the sums of a run: of each range the largest, as many as the steps of all ranges say that are
  /// largest by their last sum.
  std::vector<std::size_t> by_quotas(const OkExpected& run) const {
    const std::size_t count = run.sum.size();
    const std::vector<std::size_t> begins = ranges(count);
    struct Step {
      float magnitude;
      std::size_t range, sums;
    };
    std::vector<std::vector<float>> sums;
    std::vector<Step> all;
    for (std::size_t range = 0; range + 1 < begins.size(); ++range) {
      sums.push_back(within_range(run.sum, begins, range));
      std::vector<float> magnitudes;
      for (std::size_t place : largest_places(sums.back(), count)) magnitudes.push_back(std::abs(sums.back()[place]));
      std::sort(magnitudes.begin(), magnitudes.end(), std::greater<>());
      std::size_t begin = 0;
      for (std::size_t step : steps()) {
        const std::size_t end = std::min(step, magnitudes.size());
        if (end > begin) all.push_back({magnitudes[end - 1], range, end - begin});
        begin = end;
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Step& a, const Step& b) { return a.magnitude > b.magnitude; });
    std::vector<std::size_t> quotas(sums.size());
    std::size_t left = k_;
    for (const Step& step : all) {
      const std::size_t taken = std::min(left, step.sums);
      quotas[step.range] += taken;
      left -= taken;
    }
    std::vector<std::size_t> places;
    for (std::size_t range = 0; range < sums.size(); ++range) {
      const std::vector<std::size_t> largest = largest_places(sums[range], quotas[range]);
      places.insert(places.end(), largest.begin(), largest.end());
    }
    return places;
  }
  /// Zeros outside of a range.
  static std::vector<float> within_range(const std::vector<float>& values, const std::vector<std::size_t>& begins,
                                         std::size_t range) {
    std::vector<float> here(values.size());
    const auto at = [&](std::size_t i) { return static_cast<std::ptrdiff_t>(begins[i]); };
    std::copy(values.begin() + at(range), values.begin() + at(range + 1), here.begin() + at(range));
    return here;
  }

  bool repartitions() const { return states[0].runs % tau_ == 0 || !states[0].find("partition"); }
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
      const std::vector<float> here = within_range(acc, begins, range);
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
