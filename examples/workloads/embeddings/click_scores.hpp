#pragma once

#include <cstdint>
#include <span>

namespace lacuna::workloads {

/// How well log-odds tell labels.
struct ClickScores {
  double auc = 0;       ///< the chance that a clicked sample has greater log-odds than another; equal ones count half
  double log_loss = 0;  ///< the mean of -log of the chance that was given to the label
  double accuracy = 0;  ///< the share of samples whose label is the likelier one
};

/// Returns the loss of one sample.
double log_loss(float log_odds, std::uint8_t label);
/// Scores samples. If all labels are equal, `auc` is one half.
ClickScores click_scores(std::span<const float> log_odds, std::span<const std::uint8_t> labels);

}  // namespace lacuna::workloads
