#include "bindings/cli/completion/completion.hpp"

#include <fmt/format.h>

#include <set>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/shared/command_options.hpp"

namespace lacuna::cli {
namespace {

/// The script, but for the tables. A program that `lacuna launch` starts may be the command itself: the last one before
/// the cursor counts. What has no words is completed as a file if it is one, and else not at all.
constexpr std::string_view script = R"(# Completes command lines of lacuna in bash. `lacuna completion` has made this.
_lacuna() {{
  local current=$2 previous=$3 begin=0 path= words= options= word i
  [[ $current != = ]] || current=
  [[ $previous != = ]] || previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  for ((i = 0; i < COMP_CWORD; ++i)); do
    [[ ${{COMP_WORDS[i]##*/}} != lacuna ]] || begin=$i
  done
  for word in "${{COMP_WORDS[@]:begin + 1:COMP_CWORD - begin - 1}}"; do
    case $path/$word in
      {paths}) path+=/$word ;;
    esac
  done
  case "$path $previous" in
{values}    *)
      case $path in
{commands}      esac
      [[ $current != -* ]] || words=$options
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _lacuna lacuna
)";

/// What is put into the script.
struct Tables {
  std::vector<std::string> paths;  // of all commands
  std::string values;              // a row for each option with a value: what may follow it
  std::string commands;            // a row for each command: what may follow it
};

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

/// What the script does after the option. bash completes files by itself if there are no words.
std::string value_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == "FILE" || type == "FOLDER") return "return";
  const std::vector<std::string> words = words_of(option);
  return words.empty() ? "compopt +o default; return" : fmt::format("words='{}'", fmt::join(words, " "));
}

void add_command(const CLI::App& command, const std::string& path, Tables& tables) {
  std::vector<std::string> words, options;
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string> names = names_of(*option);
    options.insert(options.end(), names.begin(), names.end());
    if (!option->nonpositional()) {
      for (const std::string& word : words_of(*option)) words.push_back(word);
    } else if (option->get_items_expected_max() > 0) {
      std::vector<std::string> places;
      for (const std::string& name : names) places.push_back(fmt::format("'{} {}'", path, name));
      tables.values += fmt::format("    {}) {} ;;\n", fmt::join(places, " | "), value_of(*option));
    }
  }
  for (const CLI::App* one : command.get_subcommands(nullptr)) {
    const std::string longer = fmt::format("{}/{}", path, one->get_name());
    words.push_back(one->get_name());
    tables.paths.push_back(longer);
    add_command(*one, longer, tables);
  }
  tables.commands += fmt::format("        '{}')\n          words='{}'\n          options='{}'\n          ;;\n", path,
                                 fmt::join(words, " "), fmt::join(options, " "));
}

std::vector<std::string> names_of_methods() {
  std::vector<std::string> names;
  for (const Method* method : all_methods()) names.emplace_back(method->name);
  return names;
}

/// Several collectives may have an algorithm of one name.
std::vector<std::string> names_of_algorithms() {
  std::set<std::string> names;
  for (const Algorithm* algorithm : all_algorithms()) names.emplace(algorithm->name);
  for (const Method* method : all_methods()) {
    for (const MethodAlgorithm& one : method->algorithms) names.emplace(one.name);
  }
  return {names.begin(), names.end()};
}

/// The names in "what they are: one, another".
std::vector<std::string> names_in_help(const std::string& help) {
  std::vector<std::string> names;
  for (std::size_t at = help.rfind(": "); at != std::string::npos; at = help.find(", ", at)) {
    at += 2;
    names.push_back(help.substr(at, help.find(", ", at) - at));
  }
  return names;
}

}  // namespace

std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == "METHOD") return names_of_methods();
  if (type == "ALGORITHM") return names_of_algorithms();
  if (type == "NAME") return names_in_help(option.get_description());
  return {};
}

std::string bash_completion(const CLI::App& app) {
  Tables tables;
  add_command(app, "", tables);
  return fmt::format(script, fmt::arg("paths", fmt::join(tables.paths, " | ")), fmt::arg("values", tables.values),
                     fmt::arg("commands", tables.commands));
}

}  // namespace lacuna::cli
