#include "bindings/cli/run/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "bindings/cli/shared/output.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

constexpr std::size_t numbers_of_step = sizeof(StepNumbers) / sizeof(double);

Attributes about_column(std::string unit, std::string description) {
  return {{"unit", std::move(unit)}, {"description", std::move(description)}};
}

/// The columns for the members of StepNumbers, in their order.
std::vector<checkpoint::StepColumn> columns_of(const Workload& workload) {
  return {
      {workload.figure_name(), about_column("ratio", "mean over the ranks")},
      {"seconds", about_column("seconds", "time of the step; mean over the ranks")},
      {"waited_seconds",
       about_column("seconds", "how many of these seconds a rank has waited for communication; mean over the ranks")},
      {"payload_bytes", about_column("bytes", "payload that a rank has sent; mean over the ranks")}};
}

}  // namespace

std::span<double> flat(std::vector<StepNumbers>& steps) {
  return {&steps.data()->figure, numbers_of_step * steps.size()};
}

StepMeter::StepMeter(const Workload& workload, const Communicator& communicator)
    : workload_(workload), communicator_(communicator), last_(read()) {}

StepMeter::Reading StepMeter::read() const {
  return {.time = std::chrono::steady_clock::now(),
          .waited = workload_.waited(),
          .payload = communicator_.counters().payload_sent};
}

StepNumbers StepMeter::end_of_step(double figure) {
  using Seconds = std::chrono::duration<double>;
  const Reading before = std::exchange(last_, read());
  return {.figure = figure,
          .seconds = Seconds(last_.time - before.time).count(),
          .waited = Seconds(last_.waited - before.waited).count(),
          .payload = static_cast<double>(last_.payload - before.payload)};
}

Result<StepLog> StepLog::make(const RunConfig& config, const Work& work, std::uint64_t steps, std::uint64_t done) {
  constexpr std::uint64_t first_places = 65536;
  StepLog log(config, work, steps);
  const Status made = log.make_places(std::max(first_places, done), done);
  return made ? Result<StepLog>(std::move(log)) : made;
}

Status StepLog::make_places(std::uint64_t needed, std::uint64_t done) {
  places_ = std::min(steps_, std::bit_ceil(needed));
  const std::filesystem::path path = work_.folder / step_file_name;
  const auto earlier = done > 0 ? checkpoint::read_steps(path) : checkpoint::StepTable();
  if (!earlier) {
    write_error("lacuna run: '{}': what its first {} were stays unknown: {}\n", name_of(*config_, work_),
                count_of(done, "step"), earlier.status().message());
  }
  Result<checkpoint::StepFile> file = checkpoint::StepFile::make(
      path,
      {.about = {{"method", config_->methods[work_.method].label},
                 {"seed", static_cast<std::int64_t>(work_.seed)},
                 {"steps", static_cast<std::int64_t>(steps_)},
                 {"description",
                  std::string("what each of the steps was; those that are not done yet have the number 0 "
                              "and NaN, or no place")}},
       .columns = columns_of(*config_->workload)},
      places_, earlier ? *earlier : checkpoint::StepTable(), done);
  if (!file) return file.status();
  file_ = *std::move(file);
  return Status::ok();
}

Status StepLog::write(std::uint64_t done, std::span<const double> numbers) {
  const std::uint64_t needed = done + numbers.size() / numbers_of_step;
  if (needed > places_) {
    if (Status made = make_places(needed, done); !made) return made;
  }
  return file_->write(done, numbers);
}

}  // namespace lacuna::cli
