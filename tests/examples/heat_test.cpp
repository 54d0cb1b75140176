#include "examples/workloads/heat/heat.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "algorithms/topk/topk.hpp"
#include "examples/workloads/heat/waves.hpp"
#include "tests/examples/training_fixture.hpp"

namespace lacuna::workloads {
namespace {

class HeatEquation : public TrainingFixture {
 protected:
  static Make made(const HeatOptions& options) {
    return [=] { return make_heat(options); };
  }
};

/// The solver as its definition says, on one array with a border of its own.
std::vector<double> serial(const HeatOptions& options, std::uint64_t seed, std::uint64_t of_steps, double& residual) {
  const std::size_t rows = options.rows, columns = options.columns;
  Waves waves(options, seed);
  std::vector<double> now(rows * columns), next(now);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) now[i * columns + j] = waves.value(i, j);
  }
  const double by_rows = 1 / (waves.row_spacing() * waves.row_spacing());
  const double by_columns = 1 / (waves.column_spacing() * waves.column_spacing());
  const double step = options.time_step / (2 * (by_rows + by_columns));
  const auto point = [&](std::size_t i, std::ptrdiff_t down, std::size_t j, std::ptrdiff_t right) {
    auto row = static_cast<std::ptrdiff_t>(i) + down, column = static_cast<std::ptrdiff_t>(j) + right;
    const auto height = static_cast<std::ptrdiff_t>(rows), width = static_cast<std::ptrdiff_t>(columns);
    if (options.periodic) {
      row = (row + height) % height;
      column = (column + width) % width;
    } else if (row < 0 || row >= height || column < 0 || column >= width) {
      return 0.0;
    }
    return now[static_cast<std::size_t>(row * width + column)];
  };
  for (std::uint64_t s = 0; s < of_steps; ++s) {
    residual = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        const double own = point(i, 0, j, 0), twice = 2 * own;
        const double changed = own + step * by_rows * (point(i, -1, j, 0) + point(i, 1, j, 0) - twice) +
                               step * by_columns * (point(i, 0, j, -1) + point(i, 0, j, 1) - twice);
        residual = std::max(residual, std::abs(changed - own));
        next[i * columns + j] = changed;
      }
    }
    now.swap(next);
  }
  return now;
}

struct Shape {
  HeatOptions options;
  std::vector<Rank> sizes;  // of jobs
};

const Shape shapes[] = {
    {{.rows = 13, .columns = 7}, {1, 2, 3, 4, 5, 6, 7, 8, 9}},
    {{.rows = 12, .columns = 12, .periodic = true}, {1, 2, 3, 4, 6, 9}},
    {{.rows = 3, .columns = 3, .periodic = true},
     {1, 2, 4, 9}},  // boxes of one point, ranks that are their own neighbours
    {{.rows = 1, .columns = 9}, {1, 3}},
    {{.rows = 16, .columns = 5, .process_rows = 8}, {8}},
};

Rank place_of(const HeatOptions& options, Rank size, std::size_t side) {
  if (options.process_rows == 0) return ProcessGrid::balanced(size, 2)->sides()[side].length;
  return side == 0 ? options.process_rows : size / options.process_rows;
}

TEST_F(HeatEquation, HasTheBitsOfASerialSolverOnAnyNumberOfRanks) {
  for (const Shape& shape : shapes) {
    for (const Rank size : shape.sizes) {
      if (!check(shape.options, size)) continue;
      double residual = 0;
      const std::vector<double> expected = serial(shape.options, 3, steps, residual);
      on_ranks(size, made(shape.options), task_of({}), [&](Communicator& communicator, Workload& workload) -> Status {
        Result<double> last = 0.0;
        for (std::uint64_t s = 0; s < steps; ++s) {
          last = workload.step(s);
          if (!last) return last.status();
        }
        EXPECT_EQ(*last, residual);
        const Rank down = place_of(shape.options, size, 0), across = place_of(shape.options, size, 1);
        const auto cut = [](std::size_t points, Rank at, Rank length) {
          return points * static_cast<std::size_t>(at) / static_cast<std::size_t>(length);
        };
        const Rank row = communicator.rank() / across, column = communicator.rank() % across;
        const std::size_t top = cut(shape.options.rows, row, down), left = cut(shape.options.columns, column, across);
        const std::size_t height = cut(shape.options.rows, row + 1, down) - top;
        const std::size_t width = cut(shape.options.columns, column + 1, across) - left;
        const auto* values = static_cast<const double*>(workload.state()[0].data);
        for (std::size_t i = 0; i < height; ++i) {
          for (std::size_t j = 0; j < width; ++j) {
            EXPECT_EQ(values[(i + 1) * (width + 2) + j + 1], expected[(top + i) * shape.options.columns + left + j]);
          }
        }
        return {};
      });
    }
  }
}

TEST_F(HeatEquation, HasOneFingerprintAndEqualMetricsWhateverTheNumberOfRanks) {
  std::mutex mutex;
  std::vector<Metrics> all;
  for (const Rank size : {1, 2, 3, 4, 6, 9}) {
    on_ranks(size, made({.rows = 20, .columns = 17}), task_of({}), [&](Communicator&, Workload& workload) -> Status {
      if (Status done = train(workload, 0, steps); !done) return done;
      auto metrics = workload.evaluate();
      if (!metrics) return metrics.status();
      const std::lock_guard lock(mutex);
      all.push_back(*metrics);
      return {};
    });
  }
  ASSERT_EQ(all.size(), 25u);
  for (const Metrics& one : all) {
    EXPECT_EQ(one.fingerprint, all[0].fingerprint);
    EXPECT_EQ(one.values[0].value, all[0].values[0].value);
    EXPECT_EQ(one.values[1].value, all[0].values[1].value);
  }
}

TEST_F(HeatEquation, ComesNearerToTheExactSolutionWithTheSquareOfTheSpacing) {
  std::vector<double> errors;
  for (const std::size_t points : {15, 31, 63}) {
    const std::uint64_t scale = (points + 1) * (points + 1) / 256;  // the same time, as steps have squares of spacings
    on_ranks(1, made({.rows = points, .columns = points}), task_of({}),
             [&](Communicator&, Workload& workload) -> Status {
               if (Status done = train(workload, 0, 10 * scale); !done) return done;
               errors.push_back(workload.evaluate()->values[0].value);
               return {};
             });
  }
  for (std::size_t i = 1; i < errors.size(); ++i) EXPECT_NEAR(errors[i - 1] / errors[i], 4, 0.8);
}

TEST_F(HeatEquation, ContinuesToTheSameBits) {
  for (const bool periodic : {false, true}) {
    const HeatOptions options{.rows = 9, .columns = 11, .periodic = periodic, .residual_every = 5};
    on_ranks(4, made(options), task_of({}), [](Communicator& communicator, Workload& workload) {
      return continue_from_middle(communicator, workload, task_of({}));
    });
  }
}

TEST_F(HeatEquation, EachSeedDrawsAnotherTemperature) {
  const HeatOptions options{.rows = 4, .columns = 4};
  EXPECT_NE(Waves(options, 1).value(1, 2), Waves(options, 2).value(1, 2));
  EXPECT_EQ(Waves(options, 1).value(1, 2), Waves(options, 1).value(1, 2));
}

TEST_F(HeatEquation, SendsTheHalosAndTheResidualAndNothingElse) {
  on_ranks(4, made({.rows = 10, .columns = 6, .residual_every = 1000}), task_of({}),
           [](Communicator& communicator, Workload& workload) -> Status {
             const std::uint64_t before = communicator.counters().payload_sent;
             if (Status done = train(workload, 0, steps); !done) return done;
             EXPECT_EQ(communicator.counters().payload_sent - before, steps * 8 * (5 + 3)) << "a row and a column";
             return {};
           });
}

TEST_F(HeatEquation, RefusesAMethodAndBoxesWithoutPoints) {
  auto world = Communicator::local(1);
  const auto workload = make_heat({});
  Task task = task_of({.label = "topk", .options = topk({.density = 0.5})});
  EXPECT_EQ(workload->set_up((*world)[0], task).message(),
            "the method is topk:density=0.5, but heat sends no gradients that a method could act on: it must be dense");
  EXPECT_EQ(check({.rows = 2, .columns = 2}, 3).message(),
            "2 x 2 points can't be cut for 3 x 1 ranks: each rank needs one or more");
  EXPECT_EQ(check({.process_rows = 3}, 4).message(), "process_rows is 3, must divide the number of ranks, 4");
}

}  // namespace
}  // namespace lacuna::workloads
