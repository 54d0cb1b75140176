#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

/// The commands of `lacuna`. Each function adds one command with its options. When the command line is parsed, the
/// command runs and stores its exit code in `exit_code`, which outlives `app`.
namespace lacuna::cli {

void add_aggregate(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_completion(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_graph(CLI::App& app, int& exit_code);
void add_info(CLI::App& app, int& exit_code);
/// `program` is the program to launch, with its arguments. It outlives `app`.
void add_launch(CLI::App& app, const std::vector<std::string>& program, int& exit_code);
void add_list(CLI::App& app, int& exit_code);
void add_manual(CLI::App& app, int& exit_code);
void add_perf(CLI::App& app, int& exit_code);
void add_plot(CLI::App& app, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);
void add_trace(CLI::App& app, int& exit_code);
void add_tune(CLI::App& app, int& exit_code);
void add_watch(CLI::App& app, int& exit_code);

}  // namespace lacuna::cli
