#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lacuna::workloads {

/// Samples of made click data. Each has one category of each field, given as a row of a table that holds the categories
/// of all fields one after another, and a label: was the sample clicked on?
struct Clicks {
  std::size_t fields = 0;
  std::vector<std::uint32_t> rows{};   ///< the samples one after another, each with `fields` rows
  std::vector<std::uint8_t> labels{};  ///< 0 or 1

  std::size_t count() const { return labels.size(); }
  std::span<const std::uint32_t> sample(std::size_t index) const {
    return std::span(rows).subspan(index * fields, fields);
  }
};

/// Makes click data. Everything follows from the numbers that it is made with, so any rank can make any sample.
///
/// The categories of a field are drawn by Zipf's law with exponent 1: category i comes with a chance in proportion to
/// 1 / (i + 1). A hidden factorization machine (Rendle, "Factorization machines", 2010) gives the log-odds of a click:
/// the sum of a weight of each category and of the products of the hidden vectors of each two categories. The label is
/// drawn by these odds, so that no model can tell all labels.
class ClickSource {
 public:
  /// There is at least one field, and each vocabulary has at least one category.
  ClickSource(const std::vector<std::size_t>& vocabularies, std::uint64_t seed);

  /// Returns the number of categories of all fields together.
  std::size_t rows() const { return weights_.size(); }
  /// Makes the samples with the numbers first, first + 1 ...
  Clicks make(std::uint64_t first, std::size_t count) const;
  /// Returns the log-odds by which the label of a sample with these rows is drawn.
  double log_odds(std::span<const std::uint32_t> sample) const;

 private:
  static constexpr std::size_t factors = 4;

  struct Field {
    std::size_t first_row = 0;
    std::vector<double> up_to;  // the sum of 1 / (i + 1) over the categories up to each
  };

  std::uint64_t seed_;
  std::vector<Field> fields_;
  std::vector<float> weights_;  // one of each row
  std::vector<float> vectors_;  // `factors` numbers of each row
};

}  // namespace lacuna::workloads
