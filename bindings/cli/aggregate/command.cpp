#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {
namespace {

constexpr std::chrono::hours until_the_next_job{24 * 365};
constexpr std::chrono::seconds pause_after_failure{1};

/// What the process of a job exits with: the job was served; it has failed; no job can be served.
constexpr int served_well = 0, failed = 1, hopeless = 2;

int serve_one(std::optional<std::chrono::milliseconds> timeout) {
  const Status status = aggregate({.timeout = timeout});
  if (status) return served_well;
  write_error("lacuna aggregate: {}\n", status.to_string());
  const Code code = status.code();
  return code == Code::InvalidArgument || code == Code::Unsupported || code == Code::Io ? hopeless : failed;
}

/// Returns the exit code of a process that has served a job.
int exit_code_of_process(pid_t process) {
  int state = 0;
  while (::waitpid(process, &state, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(state)) return WEXITSTATUS(state);
  write_error("lacuna aggregate: the process of the last job was killed by signal {}\n", WTERMSIG(state));
  return failed;
}

/// Serves so many jobs, one after another; 0: without end. Returns how the last one has ended. What can't be right in
/// any job ends it at once. Each job has a process of its own, because what a failed job leaves behind stays until its
/// process ends. This process waits, and takes the other one with it if it is killed.
int serve(std::uint64_t jobs) {
  if (jobs == 1) return std::min(serve_one(std::nullopt), failed);
  const pid_t waiting = ::getpid();
  for (std::uint64_t served = 1;; ++served) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      return ::getppid() == waiting ? serve_one(until_the_next_job) : failed;
    }
    if (process < 0) write_error("lacuna aggregate: fork: {}\n", std::generic_category().message(errno));
    const int code = process < 0 ? failed : exit_code_of_process(process);
    if (served == jobs || code == hopeless) return std::min(code, failed);
    if (code != served_well) std::this_thread::sleep_for(pause_after_failure);
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
    exit_code = serve(*jobs);
  });
}

}  // namespace lacuna::cli
