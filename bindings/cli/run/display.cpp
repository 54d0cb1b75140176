#include "bindings/cli/run/display.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "bindings/cli/shared/number_table.hpp"
#include "bindings/cli/shared/output.hpp"

namespace lacuna::cli {
namespace {

constexpr double smoothing = 0.05;  // weight of the newest figure
constexpr std::size_t bar_width = 24;

}  // namespace

ProgressDisplay::ProgressDisplay(bool quiet) : quiet_(quiet), terminal_(isatty(STDOUT_FILENO) == 1) {}

void ProgressDisplay::begin(Work work, std::uint64_t step) {
  work_ = std::move(work);
  step_ = first_step_ = step;
  begin_ = last_shown_ = Clock::now();
}

void ProgressDisplay::advance(double figure) {
  figure_ = step_ == first_step_ ? figure : figure_ + smoothing * (figure - figure_);
  ++step_;
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_shown_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(5))) return;
  last_shown_ = now;
  show();
}

std::string ProgressDisplay::epoch_text() const {
  if (work_.steps_per_epoch == 0) return "";
  return fmt::format("epoch {:.2f}  ", static_cast<double>(step_) / static_cast<double>(work_.steps_per_epoch));
}

void ProgressDisplay::show() {
  const double seconds = std::chrono::duration<double>(last_shown_ - begin_).count();
  const double rate = static_cast<double>(step_ - first_step_) / seconds;
  const std::string numbers =
      fmt::format("{}step {}/{}  {} {:.4g}  {:.0f} steps/s  {} left", epoch_text(), step_, work_.steps, work_.figure,
                  figure_, rate, clock_text(static_cast<double>(work_.steps - step_) / rate));
  if (terminal_) {
    const std::size_t filled = bar_width * step_ / work_.steps;
    write_out("\r\033[K{} [{:#<{}}{:.<{}}] {}", work_.label, "", filled, "", bar_width - filled, numbers);
  } else {
    write_out("{}: {}\n", work_.label, numbers);
  }
  flush_output();
}

void ProgressDisplay::line(const std::string& text) {
  if (quiet_) return;
  write_out("{}{}\n", terminal_ ? "\r\033[K" : "", text);
  flush_output();
}

std::string to_text(const Metrics& metrics) {
  std::string text;
  for (const Metric& metric : metrics.values) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", metric.name,
                    metric.percent ? fmt::format("{:.2f} %", 100 * metric.value) : fmt::format("{:.4f}", metric.value));
  }
  return text;
}

}  // namespace lacuna::cli
