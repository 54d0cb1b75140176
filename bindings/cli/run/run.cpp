#include "bindings/cli/run/run.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "bindings/cli/run/session.hpp"
#include "bindings/cli/shared/agree.hpp"
#include "runtime/files/regular_file.hpp"

namespace lacuna::cli {
namespace {

/// Rank 0 reads the file. All ranks get the same text, and so the same verdict on it.
Result<RunConfig> shared_config(Communicator& communicator, const std::filesystem::path& path) {
  ConfigSource source{.file = path.string(), .text = "", .hosts = Hosts(communicator.hosts())};
  Status read;
  if (communicator.rank() == 0) {
    Result<std::string> text = read_regular(path, Links::Followed);
    if (text && text->empty()) text = Status(Code::Io, fmt::format("{} cannot be read: it is empty", path.string()));
    if (!text) read = Status(Code::Io, fmt::format("the config {}", text.status().message()));
    if (text) source.text = *std::move(text);
  }
  if (Status agreed = agree(communicator, read); !agreed) return agreed;
  if (Status shared = share_text(communicator, source.text); !shared) return shared;
  Result<RunConfig> config = read_run_config(std::move(source));
  if (config) return config;
  return Status(config.status().code(), fmt::format("the config is not accepted:\n{}", config.status().message()));
}

/// Returns the exit status of a run that has ended without an error.
Result<int> run(Communicator& communicator, const RunOptions& options) {
  Result<RunConfig> config = shared_config(communicator, options.config);
  if (!config) return config.status();
  const bool quiet = options.quiet || communicator.rank() != 0;
  RunSession session(communicator, *config, quiet, options.record);
  const Result<RunRecord> record = session.run(options.fresh);
  if (!record) return record.status();
  if (session.stopped_by() != 0) {
    if (communicator.rank() == 0) fmt::print(stderr, "lacuna run: {}\n", session.stop_text());
    return 128 + session.stopped_by();
  }
  if (communicator.rank() == 0) {
    fmt::print("\n{}", table_of(*record));
    if (options.predict) fmt::print("\nPredicted from computing time and bytes sent:\n{}", prediction_of(*record));
    fmt::print("\nresults: {}\n", result_path(*config).string());
    if (std::filesystem::exists(options.record.file)) fmt::print("gradients: {}\n", options.record.file.string());
  }
  return 0;
}

}  // namespace

int run_command(const RunOptions& options) {
  Result<Communicator> world = Communicator::world();
  const Result<int> exit_status = world ? run(*world, options) : Result<int>(world.status());
  if (exit_status) return *exit_status;
  // Rank 0 says for all what any rank has found. The end of the communicator each rank says itself.
  if (!world || world->rank() == 0 || !world->status())
    fmt::print(stderr, "lacuna run: {}\n", exit_status.status().message());
  return 1;
}

}  // namespace lacuna::cli
