#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {
namespace {

constexpr std::chrono::hours until_the_next_job{24 * 365};
constexpr std::chrono::seconds pause_after_failure{1};

/// Serves so many jobs, one after another; 0: without end. Returns how the last one has ended. What can't be right in
/// any job ends it at once.
Status serve(std::uint64_t jobs) {
  std::optional<std::chrono::milliseconds> timeout;
  if (jobs != 1) timeout = until_the_next_job;
  for (std::uint64_t served = 1;; ++served) {
    const Status status = aggregate({.timeout = timeout});
    if (!status) write_error("lacuna aggregate: {}\n", status.to_string());
    const Code code = status.code();
    const bool is_hopeless = code == Code::InvalidArgument || code == Code::Unsupported || code == Code::Io;
    if (served == jobs || is_hopeless) return status;
    if (!status) std::this_thread::sleep_for(pause_after_failure);
  }
}

}  // namespace

void add_aggregate(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "aggregate", "serve the ranks of a job as one of its aggregators; LACUNA_RANK is behind those of the ranks");
  const auto jobs = std::make_shared<std::uint64_t>(1);
  command->add_option("--jobs", *jobs, "serve so many jobs at the same store, one after another; 0: without end")
      ->type_name("N")
      ->capture_default_str();
  command->callback([&exit_code, jobs] {
    for (const int signal : {SIGUSR1, SIGUSR2}) std::signal(signal, SIG_IGN);  // they are for the ranks
    exit_code = serve(*jobs) ? 0 : 1;
  });
}

}  // namespace lacuna::cli
