#include "bindings/cli/shared/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>

#include "runtime/values/digest.hpp"

namespace lacuna::cli {
namespace {

using Kind = PatternOptions::Kind;

constexpr double largest_run = 1e9;

/// Returns a uniform number in [0, 1), drawn by one rank, or by all ranks alike.
double draw(std::uint64_t who, std::uint64_t element) {
  const std::uint64_t word = mix64(mix64(who + 1) + element * 0x9e3779b97f4a7c15u);
  return static_cast<double>(word >> 11) * 0x1p-53;
}
constexpr std::uint64_t all_ranks = 0;
std::uint64_t own(Rank rank) { return static_cast<std::uint64_t>(rank) + 1; }

/// Returns the weight of an element in a power law. A share A of the elements weighs `least`. The others weigh `least`
/// times v^(-1/A), with v uniform in (0, 1]. A rank has an element of weight x by the chance 1 - exp(-x), so s ranks
/// together have it by 1 - exp(-sx). If the weights had the density x^(-1-A) down to 0, the number of elements would
/// grow exactly as s^A. All weights below `least` would weigh as much together as the share A that weighs `least`.
double heavy(double least, double exponent, double v) { return least * std::pow(v, -1 / exponent); }

/// Returns the share of the elements that a rank has.
double density_of(double least, double exponent) {
  constexpr int samples = 1024;
  double sum = 0;
  for (int i = 0; i < samples; ++i) sum -= std::expm1(-heavy(least, exponent, (i + 0.5) / samples));
  return -exponent * std::expm1(-least) + (1 - exponent) * sum / samples;
}

double least_weight(double density, double exponent) {
  double low = 0, high = -std::log1p(-std::min(density, 1 - 1e-9));
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (density_of(middle, exponent) < density ? low : high) = middle;
  }
  return high;
}

/// Returns the chance that at least one of so many draws succeeds, if each does so by the chance `each`.
double any_of(double draws, double each) { return -std::expm1(draws * std::log1p(-std::min(each, 1.0))); }

bool is_number(std::string_view text, double least, double most, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
}

}  // namespace

Result<PatternOptions> pattern_options(const std::string& text) {
  static const std::map<std::string, Kind> kinds = {{"uniform", Kind::Uniform},     {"overlap", Kind::Overlap},
                                                    {"clustered", Kind::Clustered}, {"powerlaw", Kind::PowerLaw},
                                                    {"blocks", Kind::Blocks},       {"rows", Kind::Rows},
                                                    {"skewed", Kind::Skewed},       {"gradient", Kind::Gradient}};
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto found = kinds.find(text.substr(0, colon));
  PatternOptions options{.text = text};
  bool valid = found != kinds.end();
  if (valid) {
    options.kind = found->second;
    const std::string_view argument = std::string_view(text).substr(std::min(colon + 1, text.size()));
    if (options.kind == Kind::PowerLaw) {
      valid = is_number(argument, 0.05, 1, options.argument);
    } else if (options.kind == Kind::Blocks || options.kind == Kind::Rows) {
      valid = is_number(argument, 1, largest_run, options.argument) && options.argument == std::floor(options.argument);
    } else {
      valid = colon == text.size();
    }
  }
  if (valid) return options;
  return Status(Code::InvalidArgument,
                fmt::format("the pattern is '{}', must be uniform, overlap, clustered, powerlaw:A with A in 0.05 .. 1, "
                            "blocks:B with B in 1 .. {:.0f}, rows:M with M in 1 .. {:.0f}, skewed or gradient",
                            text, largest_run, largest_run));
}

Pattern::Pattern(const PatternOptions& options, std::size_t elements)
    : options_(options), elements_(elements), run_(1), inside_(options.density), outside_(options.density) {
  const double all = static_cast<double>(elements), wanted = options.density * all;
  if (options.kind == Kind::Clustered) {
    const std::size_t length = std::min(elements, static_cast<std::size_t>(std::llround(std::max(wanted, 1.0))));
    begin_ = (elements - length) / 3;
    end_ = begin_ + length;
  } else if (options.kind == Kind::Skewed) {
    end_ = elements / 8;
    const double close = static_cast<double>(end_);
    inside_ = end_ > 0 ? std::min(1.0, 0.6 * wanted / close) : 0;
    outside_ = (wanted - inside_ * close) / std::max(all - close, 1.0);
  } else if (options.kind == Kind::PowerLaw) {
    least_ = least_weight(options.density, options.argument);
    inside_ = -std::expm1(-least_);
  } else if (options.kind == Kind::Blocks || options.kind == Kind::Rows) {
    run_ = static_cast<std::size_t>(options.argument);
    if (options.kind == Kind::Rows && options.density < 1) {
      rows_ = ZipfRows(options.density, elements / run_ + (elements % run_ > 0));
    }
  }
}

bool Pattern::has_by_weight(Rank rank, std::size_t element) const {
  const double mine = draw(own(rank), element);
  if (mine < inside_) return true;
  const double which = draw(all_ranks, element), exponent = options_.argument;
  if (which < exponent) return false;
  const double v = (1 - which) / (1 - exponent);
  double bound = least_;  // the chance is less than this, which is enough to know for most elements
  for (double power = 0; power < 1 / exponent; ++power) bound /= v;
  return mine < bound && mine < -std::expm1(-heavy(least_, exponent, v));
}

bool Pattern::has(Rank rank, std::size_t element) const {
  if (options_.density >= 1) return true;
  switch (options_.kind) {
    case Kind::Uniform:
    case Kind::Gradient:
      return draw(own(rank), element) < options_.density;
    case Kind::Overlap:
      return draw(all_ranks, element) < options_.density;
    case Kind::Clustered:
      return element >= begin_ && element < end_;
    case Kind::PowerLaw:
      return has_by_weight(rank, element);
    case Kind::Blocks:
      return draw(own(rank), element / run_) < options_.density;
    case Kind::Rows:
      return rows_.has(draw(own(rank), element / run_), element / run_);
    case Kind::Skewed:
      return draw(own(rank), element) < (element < end_ ? inside_ : outside_);
  }
  return true;
}

/// Blocks and runs begin at multiples of their lengths. So a block touches two different numbers of runs at most.
double Pattern::share_of_runs(double ranks, std::size_t block) const {
  const auto length = static_cast<double>(block), run = static_cast<double>(run_);
  const double touched = (length + run - static_cast<double>(std::gcd(block, run_))) / run;  // on average
  const auto hit = [&](double runs) {
    if (options_.kind == Kind::Rows) return rows_.share(ranks, runs, std::max(1.0, length / run));
    return any_of(ranks * runs, options_.density);
  };
  const double fewer = std::floor(touched);
  return std::lerp(hit(fewer), hit(fewer + 1), touched - fewer);
}

double Pattern::share(double ranks, std::size_t block) const {
  if (elements_ == 0) return 0;
  if (options_.density >= 1) return 1;
  const auto length = static_cast<double>(std::min(block, elements_)), all = static_cast<double>(elements_);
  const double own = any_of(ranks * length, options_.density);
  switch (options_.kind) {
    case Kind::Uniform:
    case Kind::Gradient:
      return own;
    case Kind::Overlap:
      return any_of(length, options_.density);
    case Kind::Clustered:
      return static_cast<double>((end_ + block - 1) / block - begin_ / block) / std::ceil(all / length);
    case Kind::PowerLaw:
      return any_of(length, options_.density * std::pow(ranks, options_.argument));
    case Kind::Blocks:
    case Kind::Rows:
      return share_of_runs(ranks, std::min(block, elements_));
    case Kind::Skewed:
      return std::lerp(any_of(ranks * length, outside_), any_of(ranks * length, inside_),
                       static_cast<double>(end_) / all);
  }
  return own;
}

/// Magnitudes are exponential. Their scale differs between stretches of 4096 elements by a factor of up to 8.
double Pattern::value(Rank rank, std::size_t element) const {
  constexpr double mean = 400, most = 4095;
  constexpr std::size_t stretch = 4096;
  constexpr std::uint64_t values = std::uint64_t{1} << 40, scales = values + 1;  // who draws them
  const double drawn = draw(values + own(rank) + 1, element), scale = std::exp2(-3 * draw(scales, element / stretch));
  const double signless = 2 * std::abs(drawn - 0.5), magnitude = -mean * scale * std::log1p(-signless);
  return std::copysign(std::clamp(std::ceil(magnitude), 1.0, most), drawn - 0.5);
}

}  // namespace lacuna::cli
