#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lacuna::cli {

/// The words that may stand in place of an argument or an option's value, if these are names: of algorithms, methods,
/// types and so on. The declarations have them.
std::vector<std::string> words_of(const CLI::Option& option);

/// A script by which bash completes command lines: commands, options, and the words in their places.
std::string bash_completion(const CLI::App& app);

}  // namespace lacuna::cli
