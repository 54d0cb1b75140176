#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/workload/workload.hpp"
#include "runtime/values/hosts.hpp"

namespace lacuna::cli {

/// What a config of `lacuna run` asks for.
struct RunConfig {
  std::string name;
  std::filesystem::path output;         ///< directory of checkpoints and of the result file
  std::vector<std::uint64_t> seeds;     ///< at least one; they differ
  std::optional<std::uint64_t> epochs;  ///< either epochs or steps is there
  std::optional<std::uint64_t> steps;
  std::uint64_t checkpoint_every = 0;  ///< steps; 0: only at the end of each method
  std::uint64_t evaluate_every = 0;    ///< steps between evaluations within an epoch; 0: none
  std::vector<MethodChoice> methods;   ///< at least one; their labels differ
  std::unique_ptr<Workload> workload;  ///< not loaded yet
  std::string text;                    ///< text of the file
  std::string values;  ///< values of all keys that results depend on, and the number of ranks; see ConfigReport
  std::string workload_values;             ///< those of [workload], and the number of ranks
  std::vector<std::string> method_values;  ///< those of each [[method]]
};

/// Where a config comes from, and on which ranks it is to run.
struct ConfigSource {
  std::string file;  ///< its name, for errors
  std::string text;
  Hosts hosts = 1;
};

/// Reads a config. It finds all errors before it returns. The status is InvalidArgument with a line "file:line:column:
/// what is wrong and what is allowed" for each. For an unknown key the line has the nearest known one.
Result<RunConfig> read_run_config(ConfigSource source);

/// Returns the manual's page of all keys: a table for each section, each workload and each method, as the functions
/// that read them declare them.
std::string keys_as_markdown();

}  // namespace lacuna::cli
