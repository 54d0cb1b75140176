#pragma once

#include "tests/algorithms/ok_topk/ok_topk_definitions.hpp"
#include "tests/algorithms/topk/sparse_rig.hpp"
#include "tests/support/oracle.hpp"

namespace lacuna::test {

/// Ranks that call ok_topk, and beside them its definitions. Every tau' runs they select exactly. Between these runs
/// thresholds say what each rank selects, and quotas say how many sums it brings to the result.
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

  /// Returns what the next run must leave, by the residuals, thresholds and ranges that there are. If the run lays
  /// ranges anew, finish() must fill in the rest once the run has ended.
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
  /// Fills in which of the sums are in the result, by the ranges that there are now, and what stays.
  void finish(OkExpected& run) const {
    run.result =
        only(run.sum, run.exactly ? largest_places(run.sum, k_) : by_quotas(run.sum, ranges(run.sum.size()), k_));
    run.residuals = run.accumulated;
    for (std::size_t rank = 0; rank < run.residuals.size(); ++rank) {
      for (std::size_t place : run.selected[rank]) {
        if (run.result[place] != 0) run.residuals[rank][place] = 0;
      }
    }
  }

  /// Makes the next run, which must leave what is expected. Returns nothing, or what it did instead.
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

  /// Returns the state's partition: how many stretches there are, then where each of them but the last ends.
  std::vector<std::int64_t> partition(std::size_t rank) const {
    const StateArray* array = states[rank].find("partition");
    std::vector<std::int64_t> words(array ? array->count() : 0);
    if (array) std::memcpy(words.data(), array->bytes.data(), array->bytes.size());
    return words;
  }
  /// Returns where the range of each rank begins, and where the last one ends. All ranges have the same number of
  /// stretches. If the stretches are no multiple of the ranks, a range has a share of one.
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
  /// Returns nothing, or which range holds over a tenth more than the mean of what all ranks have selected. One place,
  /// which may hold an entry of each rank, does not count. Nothing is promised for few entries.
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
  /// Returns the bytes of payload that each rank has sent in a run by coordinates, which has ended.
  std::vector<std::uint64_t> sent_by_definition(const OkExpected& run, bool exactly, bool cut_anew,
                                                bool balances) const {
    const std::size_t p = states.size();
    const std::vector<std::size_t> begins = ranges(run.result.size());
    const std::set<std::size_t> result = places_of(exactly ? run.sum : run.result);
    std::vector<std::size_t> before_range = {0};
    for (std::size_t i = 0; i < p; ++i) before_range.push_back(before_range.back() + within(result, begins, i));
    const auto share = [&](std::size_t i) { return exact_boundary(i, result.size(), p); };
    constexpr std::size_t words = 2 * 32;  // words of the histogram
    const auto bins = [&](std::size_t i) {
      return 8 * (exact_boundary(i + 1, words, p) - exact_boundary(i, words, p));
    };
    const std::size_t samples = cut_anew ? 4 * words_of_samples(run, p) : 0;
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

  /// Returns how many sums there are up to the end of each step of an offer.
  std::vector<std::size_t> steps() const { return steps_of_offers(k_, states.size()); }
  bool repartitions() const { return states[0].runs % tau_ == 0 || !states[0].find("partition"); }
  std::size_t room() const { return k_ + std::max<std::size_t>(k_ / 3, 1); }

  /// Returns what a rank selects between exact selections. It begins with the range of the rank behind it and ends with
  /// its own. It has room for a third too many. Where a range would take more, its largest elements take an even share
  /// of the room that is left.
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

 private:
  std::size_t k_;
  std::uint64_t tau_prime_, tau_ = 64;
  std::string options_;
};

/// Returns whole numbers around 0, most of them small. Magnitudes fall off as in gradients, and few are equal.
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
