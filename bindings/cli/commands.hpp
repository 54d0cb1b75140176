#pragma once

#include <CLI/CLI.hpp>

/// Commands of `lacuna`: each adds itself with its options, and leaves its exit code.
namespace lacuna::cli {

void add_list(CLI::App& app, int& exit_code);
void add_graph(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_perf(CLI::App& app, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);

}  // namespace lacuna::cli
