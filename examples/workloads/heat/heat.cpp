#include "examples/workloads/heat/heat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/workloads/heat/box.hpp"
#include "examples/workloads/heat/waves.hpp"

namespace lacuna::workloads {
namespace {

using Clock = std::chrono::steady_clock;

Result<ProcessGrid> grid_of(const HeatOptions& options, Rank ranks) {
  if (options.process_rows == 0) return ProcessGrid::balanced(ranks, 2, options.periodic);
  if (ranks % options.process_rows != 0) {
    return Status(Code::InvalidArgument,
                  fmt::format("process_rows is {}, must divide the number of ranks, {}", options.process_rows, ranks));
  }
  return ProcessGrid::make({{.length = options.process_rows, .periodic = options.periodic},
                            {.length = ranks / options.process_rows, .periodic = options.periodic}});
}

/// Returns the share of one rank on a side.
Stretch share(std::size_t points, Rank place, Rank length) {
  const auto begin_of = [&](Rank at) {
    return points * static_cast<std::size_t>(at) / static_cast<std::size_t>(length);
  };
  return {begin_of(place), begin_of(place + 1)};
}

/// Stands for a point's place and bits. Sums of these numbers do not depend on the order of the points.
std::uint64_t mark_of(std::uint64_t place, double value) {
  std::uint64_t mark = std::bit_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15U * (place + 1);
  mark = (mark ^ mark >> 30) * 0xbf58476d1ce4e5b9U;
  mark = (mark ^ mark >> 27) * 0x94d049bb133111ebU;
  return mark ^ mark >> 31;
}

class Heat final : public Workload {
 public:
  explicit Heat(const HeatOptions& options) : options_(options) {}

  Status load() override { return {}; }
  bool has_gradients() const override { return false; }
  bool has_epochs() const override { return false; }
  Result<std::uint64_t> steps_per_epoch(Rank ranks) const override {
    if (Status fits = check(options_, ranks); !fits) return fits;
    return options_.evaluate_every;
  }
  Status set_up(Communicator& communicator, const Task& task) override;
  Result<double> step(std::uint64_t step) override;
  std::string figure_name() const override { return "mean_residual"; }
  Result<Metrics> evaluate() override;
  std::vector<StateItem> state() override;
  std::chrono::nanoseconds waited() const override { return waited_; }

 private:
  Status make_calls(const std::string& algorithm);
  template <class Requested>
  Status wait_for(Requested& request);

  const HeatOptions options_;
  Communicator* communicator_ = nullptr;
  std::optional<Box> box_;
  std::optional<Waves> exact_;
  Box::Factors factors_;
  double time_step_ = 0;
  double steps_ = 0;  // so many are done; f64, so that a checkpoint holds it
  double change_ = 0, residual_ = 0;
  std::vector<Neighbour> neighbours_;
  PreparedExchange exchange_;
  PreparedCall reduction_;
  std::chrono::nanoseconds waited_{0};
};

Status Heat::set_up(Communicator& communicator, const Task& task) {
  if (task.method.options) {
    return {Code::InvalidArgument,
            fmt::format("the method is {}, but heat sends no gradients that a method could act on: it must be dense",
                        task.method.options.text())};
  }
  if (Status fits = check(options_, communicator.size()); !fits) return fits;
  const ProcessGrid grid = *grid_of(options_, communicator.size());
  communicator_ = &communicator;
  exchange_ = {};
  reduction_ = {};
  try {
    const std::vector<Rank> at = grid.coordinates(communicator.rank());
    box_.emplace(share(options_.rows, at[0], grid.sides()[0].length),
                 share(options_.columns, at[1], grid.sides()[1].length));
    exact_.emplace(options_, task.seed);
  } catch (const std::exception&) {  // bad_alloc or length_error
    return {Code::InvalidArgument,
            fmt::format("there is not so much memory: {} x {} points", options_.rows, options_.columns)};
  }
  const double by_rows = 1 / (exact_->row_spacing() * exact_->row_spacing());
  const double by_columns = 1 / (exact_->column_spacing() * exact_->column_spacing());
  time_step_ = options_.time_step / (2 * (by_rows + by_columns));
  factors_ = {time_step_ * by_rows, time_step_ * by_columns};
  for (std::size_t i = 0; i < box_->height(); ++i) {
    for (std::size_t j = 0; j < box_->width(); ++j) {
      box_->at(i, j) = exact_->value(box_->rows().begin + i, box_->columns().begin + j);
    }
  }
  steps_ = residual_ = 0;
  waited_ = {};
  neighbours_ = grid.neighbours(communicator.rank());
  return make_calls(task.method.algorithm);
}

Status Heat::make_calls(const std::string& algorithm) {
  const std::array<Halo, 4> halos = box_->halos();
  auto exchange = communicator_->prepare(Exchange{.neighbours = neighbours_, .halos = halos});
  if (!exchange) return exchange.status();
  exchange_ = *std::move(exchange);
  auto reduction = communicator_->prepare(
      allreduce(std::span(&change_, 1), std::span(&residual_, 1), Reduction::Max, {.algorithm = algorithm}));
  if (!reduction) return reduction.status();
  reduction_ = *std::move(reduction);
  return {};
}

template <class Requested>
Status Heat::wait_for(Requested& request) {
  const Clock::time_point begin = Clock::now();
  const Status ended = request.wait();
  waited_ += Clock::now() - begin;
  return ended;
}

/// The halos travel while the inner points are computed.
Result<double> Heat::step(std::uint64_t step) {
  box_->pack();
  if (Status started = exchange_.start(); !started) return started;
  box_->compute_inner(factors_);
  if (Status ended = wait_for(exchange_); !ended) return ended;
  box_->unpack(neighbours_);
  change_ = box_->compute_border(factors_);
  steps_ = static_cast<double>(step + 1);
  if ((step + 1) % options_.residual_every != 0) return residual_;
  if (Status started = reduction_.start(); !started) return started;
  if (Status ended = wait_for(reduction_); !ended) return ended;
  return residual_;
}

Result<Metrics> Heat::evaluate() {
  exact_->move_to(steps_ * time_step_);
  double error = 0;
  std::uint64_t marks = 0;
  for (std::size_t i = 0; i < box_->height(); ++i) {
    for (std::size_t j = 0; j < box_->width(); ++j) {
      const std::size_t row = box_->rows().begin + i, column = box_->columns().begin + j;
      error = std::max(error, std::abs(box_->at(i, j) - exact_->value(row, column)));
      marks += mark_of(row * options_.columns + column, box_->at(i, j));
    }
  }
  std::array<double, 1> largest = {error};
  if (Status told = communicator_->call(allreduce(largest, Reduction::Max)); !told) return told;
  std::array<std::int64_t, 1> sum = {static_cast<std::int64_t>(marks)};  // integers wrap
  if (Status told = communicator_->call(allreduce(sum)); !told) return told;
  return Metrics{.values = {{.name = "error",
                             .value = largest[0],
                             .unit = "temperature",
                             .description = "largest difference of a point from the exact solution"},
                            {.name = "residual",
                             .value = residual_,
                             .unit = "temperature",
                             .description = "largest change of a point in the last step that was looked at"}},
                 .fingerprint = static_cast<std::uint64_t>(sum[0])};
}

std::vector<StateItem> Heat::state() {
  return {{"temperature", Dtype::F64, box_->values().data(), box_->values().size()},
          {"residual", Dtype::F64, &residual_, 1},
          {"steps", Dtype::F64, &steps_, 1}};
}

}  // namespace

Status check(const HeatOptions& options, Rank ranks) {
  const auto grid = grid_of(options, ranks);
  if (!grid) return grid.status();
  const auto down = static_cast<std::size_t>(grid->sides()[0].length);
  const auto across = static_cast<std::size_t>(grid->sides()[1].length);
  if (options.rows >= down && options.columns >= across) return {};
  return {Code::InvalidArgument,
          fmt::format("{} x {} points can't be cut for {} x {} ranks: each rank needs one or more", options.rows,
                      options.columns, down, across)};
}

std::unique_ptr<Workload> make_heat(const HeatOptions& options) { return std::make_unique<Heat>(options); }

}  // namespace lacuna::workloads
