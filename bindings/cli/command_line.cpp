#include "bindings/cli/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <optional>
#include <sstream>

#include "algorithms/registry/plugins.hpp"
#include "bindings/cli/commands.hpp"
#include "bindings/cli/shared/mistakes.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cli/shared/versions.hpp"
#include "runtime/config/config.hpp"

namespace lacuna::cli {
namespace {

constexpr int usage_error = 2;

/// The whole command, with one line of arguments for it.
class CommandLine {
 public:
  explicit CommandLine(std::vector<std::string> arguments);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Carries the command out. Returns the exit code.
  int run();
  /// Reads the arguments only. Returns the exit code if they are wrong or only ask for help.
  std::optional<int> check();
  /// The program that `launch` is to run, with its arguments.
  const std::vector<std::string>& program() const { return program_; }

 private:
  void take_program();
  std::optional<int> parse();

  CLI::App app_{"lacuna: collectives that send only what matters", "lacuna"};
  std::vector<std::string> arguments_, program_;
  int exit_code_ = 0;
};

CommandLine::CommandLine(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
  constexpr std::size_t column = 34;
  app_.get_formatter()->column_width(column);
  app_.set_version_flag("--version", versions_text());
  app_.require_subcommand(1);
  add_info(app_, exit_code_);
  add_list(app_, exit_code_);
  add_graph(app_, exit_code_);
  add_explain(app_, exit_code_);
  add_perf(app_, exit_code_);
  add_compare(app_, exit_code_);
  add_tune(app_, exit_code_);
  add_launch(app_, program_, exit_code_);
  add_aggregate(app_, exit_code_);
  add_run(app_, exit_code_);
  add_watch(app_, exit_code_);
  add_show(app_, exit_code_);
  add_plot(app_, exit_code_);
  add_replay(app_, exit_code_);
  add_trace(app_, exit_code_);
  add_completion(app_, exit_code_);
  add_manual(app_, exit_code_);
  take_program();
}

/// Cuts off the program that `launch` is to run. It begins with the first word that is no option of `launch`, or after
/// `--`. Its arguments do not belong to lacuna, whatever they look like.
void CommandLine::take_program() {
  if (arguments_.empty() || arguments_.front() != "launch") return;
  const CLI::App* launch = app_.get_subcommand("launch");
  std::size_t at = 1;
  while (at < arguments_.size() && arguments_[at].starts_with('-') && arguments_[at] != "--") {
    if (arguments_[at] == "-np") arguments_[at] = "-n";  // as mpirun calls it
    const CLI::Option* option = launch->get_option_no_throw(arguments_[at]);
    at += option && option->get_items_expected() > 0 ? 2 : 1;
  }
  at = std::min(at, arguments_.size());
  const std::size_t begin = at < arguments_.size() && arguments_[at] == "--" ? at + 1 : at;
  program_.assign(arguments_.begin() + static_cast<std::ptrdiff_t>(begin), arguments_.end());
  arguments_.resize(at);
}

/// Returns nothing if all is well.
std::optional<int> CommandLine::parse() {
  if (const std::string unknown = unknown_command(app_, arguments_); !unknown.empty()) {
    write_error("{}\n", unknown);
    return usage_error;
  }
  std::reverse(arguments_.begin(), arguments_.end());
  try {
    app_.parse(std::move(arguments_));
  } catch (const CLI::ExtrasError&) {
    write_error("{}\n", unexpected_argument(app_));
    return usage_error;
  } catch (const CLI::ParseError& error) {
    std::ostringstream output, errors;
    const int exit_code = app_.exit(error, output, errors);
    write(Stream::Output, output.str());
    write(Stream::Errors, errors.str());
    return exit_code == 0 ? 0 : usage_error;
  }
  return std::nullopt;
}

int CommandLine::run() { return parse().value_or(exit_code_); }

std::optional<int> CommandLine::check() {
  struct Understood {};
  app_.parse_complete_callback([] { throw Understood(); });  // it comes before the command is carried out
  try {
    return parse();
  } catch (const Understood&) {
    return std::nullopt;
  }
}

/// Is this the path of the command that is running, or its name in PATH?
bool is_this_command(const std::string& word) {
  std::error_code error;
  const auto is_same = [&](const std::filesystem::path& path) {
    return std::filesystem::equivalent(path, "/proc/self/exe", error);
  };
  if (word.find('/') != std::string::npos) return is_same(word);
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path found = std::filesystem::path(folder) / word;
    if (::access(found.c_str(), X_OK) == 0) return is_same(found);
  }
  return false;
}

/// Loads the plugins of LACUNA_PLUGINS. A configuration that can't be read is left to the command.
bool load_own_methods() {
  const auto config = runtime::Config::from_environment();
  if (!config) return true;
  const Status loaded = load_plugins(config->plugins);
  if (!loaded) write_error("lacuna: {}\n", loaded.message());
  return static_cast<bool>(loaded);
}

}  // namespace

int run_command_line(std::vector<std::string> arguments) try {
  if (!load_own_methods()) return usage_error;
  CommandLine line(std::move(arguments));
  const std::vector<std::string>& program = line.program();
  if (!program.empty() && is_this_command(program.front())) {  // a mistake is said once, and not by each rank
    CommandLine launched({program.begin() + 1, program.end()});
    if (const auto exit_code = launched.check()) return *exit_code;
  }
  return line.run();
} catch (const std::bad_alloc&) {
  write(Stream::Errors, "lacuna: the system has no memory\n");
  return 1;
}

}  // namespace lacuna::cli
