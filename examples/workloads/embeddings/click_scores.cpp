#include "examples/workloads/embeddings/click_scores.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace lacuna::workloads {
namespace {

/// Returns for how many pairs of a clicked sample and another one the clicked one comes later. Samples with equal odds
/// count half.
double pairs_in_order(std::span<const float> log_odds, std::span<const std::uint8_t> labels) {
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return log_odds[a] < log_odds[b]; });
  double pairs = 0, others_before = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    double clicked = 0, others = 0;
    std::size_t end = begin;
    for (; end < order.size() && !(log_odds[order[begin]] < log_odds[order[end]]); ++end) {
      (labels[order[end]] == 1 ? clicked : others) += 1;
    }
    pairs += clicked * (others_before + others / 2);
    others_before += others;
    begin = end;
  }
  return pairs;
}

}  // namespace

double log_loss(float log_odds, std::uint8_t label) {
  const double against = label == 1 ? -static_cast<double>(log_odds) : static_cast<double>(log_odds);
  return std::max(against, 0.0) + std::log1p(std::exp(-std::abs(against)));
}

ClickScores click_scores(std::span<const float> log_odds, std::span<const std::uint8_t> labels) {
  ClickScores scores;
  double clicked = 0, right = 0;
  const auto count = static_cast<double>(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    scores.log_loss += log_loss(log_odds[i], labels[i]) / count;
    right += (log_odds[i] > 0) == (labels[i] == 1) ? 1 : 0;
    clicked += labels[i];
  }
  scores.accuracy = right / count;
  const double pairs = clicked * (count - clicked);
  scores.auc = pairs > 0 ? pairs_in_order(log_odds, labels) / pairs : 0.5;
  return scores;
}

}  // namespace lacuna::workloads
