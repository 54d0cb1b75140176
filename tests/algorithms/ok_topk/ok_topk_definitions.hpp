#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <set>
#include <vector>

#include "tests/algorithms/topk/sparse_rig.hpp"

/// Says what ok_topk must do, by the definitions of its paper and of its own phases, on the arrays of all ranks.
namespace lacuna::test {

/// What a run of ok_topk must leave, by the definitions of its paper.
struct OkExpected {
  bool exactly;                                 // does the run select exactly?
  Vectors accumulated;                          // before the run
  std::vector<std::set<std::size_t>> selected;  // by rank
  std::vector<float> sum, result;               // the sum of what is selected, and the result
  Vectors residuals;
};

/// Returns the places of the elements that are not zero.
inline std::set<std::size_t> places_of(const std::vector<float>& values) {
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) places.insert(i);
  }
  return places;
}

/// Returns the places of the elements that are larger than the threshold.
inline std::vector<std::size_t> above(const std::vector<float>& values, double threshold) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::abs(static_cast<double>(values[i])) > threshold) places.push_back(i);
  }
  return places;
}

/// Returns how many of these places lie from `begin` on and before `end`.
inline std::size_t between(const std::set<std::size_t>& places, std::size_t begin, std::size_t end) {
  return static_cast<std::size_t>(std::distance(places.lower_bound(begin), places.lower_bound(end)));
}

/// Returns how many of these places lie in the range of a rank, which begins and ends as `begins` says.
inline std::size_t within(const std::set<std::size_t>& places, const std::vector<std::size_t>& begins,
                          std::size_t rank) {
  return between(places, begins[rank], begins[rank + 1]);
}

/// Returns the values with zeros outside of a range.
inline std::vector<float> within_range(const std::vector<float>& values, const std::vector<std::size_t>& begins,
                                       std::size_t range) {
  std::vector<float> here(values.size());
  const auto at = [&](std::size_t i) { return static_cast<std::ptrdiff_t>(begins[i]); };
  std::copy(values.begin() + at(range), values.begin() + at(range + 1), here.begin() + at(range));
  return here;
}

/// Returns how many words of samples each rank sends to each of p - 1 others where ranges are laid, by the definition
/// of phases/sparse_histogram.hpp. There are 32 bins. A range that ends within a bin may be wrong by a 20th of what it
/// holds.
inline std::size_t words_of_samples(const OkExpected& run, std::size_t p) {
  const std::size_t count = run.result.size(), bins = 32;
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

/// Returns how many sums there are up to the end of each step of an offer, where p ranks select k.
inline std::vector<std::size_t> steps_of_offers(std::size_t k, std::size_t p) {
  const std::size_t quarter = (k + 4 * p - 1) / (4 * p);
  std::vector<std::size_t> ends;
  for (std::size_t end = 0; end < k; ends.push_back(end)) {
    end = std::min(k, end + (ends.size() < 8 ? quarter : end / 4));
  }
  return ends;
}

/// Returns the places of a result of k sums, which are the largest of each range. The steps of all ranges decide how
/// many a range brings: the steps whose last sums are largest are taken whole.
inline std::vector<std::size_t> by_quotas(const std::vector<float>& sum, const std::vector<std::size_t>& begins,
                                          std::size_t k) {
  struct Step {
    float magnitude;
    std::size_t range, sums;
  };
  std::vector<std::vector<float>> sums;
  std::vector<Step> all;
  for (std::size_t range = 0; range + 1 < begins.size(); ++range) {
    sums.push_back(within_range(sum, begins, range));
    std::vector<float> magnitudes;
    for (std::size_t place : largest_places(sums.back(), sum.size()))
      magnitudes.push_back(std::abs(sums.back()[place]));
    std::sort(magnitudes.begin(), magnitudes.end(), std::greater<>());
    std::size_t begin = 0;
    for (std::size_t step : steps_of_offers(k, begins.size() - 1)) {
      const std::size_t end = std::min(step, magnitudes.size());
      if (end > begin) all.push_back({magnitudes[end - 1], range, end - begin});
      begin = end;
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Step& a, const Step& b) { return a.magnitude > b.magnitude; });
  std::vector<std::size_t> quotas(sums.size());
  std::size_t left = k;
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

}  // namespace lacuna::test
