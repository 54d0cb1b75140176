#include "bindings/cli/run/run.hpp"

#include <fmt/format.h>

#include "bindings/cli/run/dry_run.hpp"
#include "bindings/cli/run/interruption.hpp"
#include "bindings/cli/run/session.hpp"
#include "bindings/cli/run/table.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cpp/agree.hpp"
#include "runtime/files/regular_file.hpp"

namespace lacuna::cli {
namespace {

Result<std::string> read_text(const std::filesystem::path& path) {
  Result<std::string> text = read_regular(path, Links::Followed);
  if (text && text->empty()) text = Status(Code::Io, fmt::format("{} cannot be read: it is empty", path.string()));
  if (text) return text;
  return Status(Code::Io, fmt::format("the config {}", text.status().message()));
}

Result<RunConfig> accepted(ConfigSource source) {
  Result<RunConfig> config = read_run_config(std::move(source));
  if (config) return config;
  return Status(config.status().code(), fmt::format("the config is not accepted:\n{}", config.status().message()));
}

/// Rank 0 reads the file. All ranks get the same text, and so the same verdict on it.
Result<RunConfig> shared_config(Communicator& communicator, const std::filesystem::path& path) {
  ConfigSource source{.file = path.string(), .text = "", .hosts = Hosts(communicator.hosts())};
  Status read;
  if (communicator.rank() == 0) {
    Result<std::string> text = read_text(path);
    read = text.status();
    if (text) source.text = *std::move(text);
  }
  if (Status agreed = agree(communicator, read); !agreed) return agreed;
  if (Status shared = share_text(communicator, source.text); !shared) return shared;
  return accepted(std::move(source));
}

Status show_plan(RunConfig& config, const Hosts& hosts) {
  const Result<std::string> text = dry_run(config, hosts);
  if (text) write_out("{}", *text);
  return text.status();
}

/// Says what a job of these ranks would do. This process is in no job.
Status show_plan(const std::filesystem::path& path, const Hosts& hosts) {
  Result<std::string> text = read_text(path);
  if (!text) return text.status();
  Result<RunConfig> config = accepted({.file = path.string(), .text = *std::move(text), .hosts = hosts});
  return config ? show_plan(*config, hosts) : config.status();
}

/// Returns the exit status of a run that has ended without an error.
Result<int> run(Communicator& communicator, const RunOptions& options) {
  Result<RunConfig> config = shared_config(communicator, options.config);
  if (!config) return config.status();
  if (options.dry) {
    const Status shown =
        agree(communicator, communicator.rank() == 0 ? show_plan(*config, Hosts(communicator.hosts())) : Status::ok());
    return shown ? Result<int>(0) : Result<int>(shown);
  }
  const bool quiet = options.quiet || communicator.rank() != 0;
  RunSession session(communicator, *config, quiet, options.record);
  const Result<checkpoint::RunResults> results = session.run(options.fresh);
  if (!results) return results.status();
  if (session.stopped_by() != 0) {
    if (communicator.rank() == 0) write_error("lacuna run: {}\n", session.stop_text());
    return 128 + session.stopped_by();
  }
  if (communicator.rank() == 0) {
    write_out("\n{}", table_of(*results));
    if (options.predict) write_out("\nPredicted from computing time and bytes sent:\n{}", prediction_of(*results));
    write_out("\nresults: {}\n", result_path(*config).string());
    if (std::filesystem::exists(options.record.file)) write_out("gradients: {}\n", options.record.file.string());
  }
  return 0;
}

}  // namespace

int run_command(const RunOptions& options) {
  if (options.dry && options.hosts) {
    const Status shown = show_plan(options.config, *options.hosts);
    if (!shown) write_error("lacuna run: {}\n", shown.message());
    return shown ? 0 : 1;
  }
  const SaveWishes wishes;  // the signal may come at any time, and would end the process
  Result<Communicator> world = Communicator::world();
  const Result<int> exit_status = world ? run(*world, options) : Result<int>(world.status());
  if (exit_status) return *exit_status;
  // Rank 0 says for all what any rank has found. The end of the communicator each rank says itself.
  if (!world || world->rank() == 0 || !world->status()) write_error("lacuna run: {}\n", exit_status.status().message());
  return 1;
}

}  // namespace lacuna::cli
