#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/shared/command_options.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cli/watch/watch.hpp"

namespace lacuna::cli {
namespace {

struct WatchOptions {
  std::string run;
  double every = 1;
  bool once = false;
};

std::string text_of(const RunProgress& progress) {
  constexpr double long_time = 10;
  std::string text = progress_table(progress);
  if (!progress.finished() && progress.seconds_since_step > long_time) {
    text += fmt::format("no step has ended for {:.0f} s\n", progress.seconds_since_step);
  }
  return text;
}

/// Prints a text where the last one stood, if standard output is a terminal, and otherwise below it.
class Screen {
 public:
  /// Returns false if standard output does not take it.
  bool show(const std::string& text) {
    if (terminal_) {
      if (lines_ > 0) write_out("\033[{}F\033[J", lines_);
    } else if (lines_ > 0) {
      write_out("\n");
    }
    write_out("{}", text);
    lines_ = std::count(text.begin(), text.end(), '\n');
    return flush_output();
  }

 private:
  bool terminal_ = isatty(STDOUT_FILENO) == 1;
  std::ptrdiff_t lines_ = 0;
};

int watch(const WatchOptions& options) {
  const std::filesystem::path given = options.run;
  const std::filesystem::path folder = given.extension() == ".h5" ? given.parent_path() : given;
  Screen screen;
  while (true) {
    const Result<RunProgress> progress = read_progress(folder.empty() ? "." : folder);
    if (!progress) return fail(progress.status());
    const bool shown = screen.show(text_of(*progress));
    if (options.once || progress->finished() || !shown) return 0;
    std::this_thread::sleep_for(std::chrono::duration<double>(options.every));
  }
}

}  // namespace

void add_watch(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* command = app.add_subcommand("watch", "show how far a run is, again and again, until it has ended");
  command->add_option("run", options->run, "the output folder of `lacuna run`, or its result file")->required();
  add_quantity<quantity::Duration>(*command, "--every", options->every, "time from one look to the next");
  command->add_flag("--once", options->once, "look once only");
  command->callback([options, &exit_code] { exit_code = watch(*options); });
}

}  // namespace lacuna::cli
