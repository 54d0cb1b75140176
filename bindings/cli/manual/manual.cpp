#include "bindings/cli/manual/manual.hpp"

#include <fmt/format.h>

#include <fstream>
#include <vector>

#include "bindings/cli/shared/command_path.hpp"
#include "runtime/config/config.hpp"
#include "runtime/values/version.hpp"

namespace lacuna::cli {
namespace {

/// Text that man shows as it is.
std::string plain(std::string_view text) {
  std::string shown;
  for (const char letter : text) {
    if (letter == '\\') {
      shown += "\\e";
    } else if (letter == '-') {
      shown += "\\-";
    } else if ((letter == '.' || letter == '\'') && (shown.empty() || shown.back() == '\n')) {
      shown += fmt::format("\\&{}", letter);
    } else {
      shown += letter;
    }
  }
  return shown;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", plain(text)); }
std::string italic(std::string_view text) { return fmt::format("\\fI{}\\fR", plain(text)); }

/// A row of a list: what it is about, and what is said about it.
std::string row(const std::string& subject, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", subject, plain(text));
}

std::string section(std::string_view title, const std::string& rows) {
  return rows.empty() ? "" : fmt::format(".SH {}\n{}", title, rows);
}

/// "-b, --minbytes SIZE"
std::string subject_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back(bold("-" + name));
  for (const std::string& name : option.get_lnames()) names.push_back(bold("--" + name));
  if (option.get_positional()) names.push_back(italic(option.get_single_name()));
  const bool takes_value = option.nonpositional() && option.get_items_expected_max() > 0;
  return fmt::format("{}{}", fmt::join(names, ", "), takes_value ? ' ' + italic(option.get_type_name()) : "");
}

std::string options_of(const CLI::App& command, bool positional) {
  std::string rows;
  for (const CLI::Option* option : command.get_options()) {
    if (option->nonpositional() == positional) continue;
    std::string text = option->get_description();
    if (option->get_required()) text += " (required)";
    if (!option->get_default_str().empty()) text += fmt::format(" (default: {})", option->get_default_str());
    rows += row(subject_of(*option), text);
  }
  return rows;
}

std::string subcommands_of(const CLI::App& command) {
  std::string rows;
  for (const CLI::App* one : command.get_subcommands(nullptr)) {
    rows += row(bold(fmt::format("{}(1)", path_of(*one, '-'))), one->get_description());
  }
  return rows;
}

/// What the command does. Its help says its name before that.
std::string summary_of(const CLI::App& command) {
  const std::string text = command.get_description(), name = command.get_name() + ": ";
  return text.starts_with(name) ? text.substr(name.size()) : text;
}

std::string synopsis(const CLI::App& command) {
  std::string text = bold(path_of(command));
  if (!command.get_parent()) text += ' ' + italic("COMMAND");
  text += fmt::format(" [{}]", italic("OPTIONS"));
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional()) text += ' ' + italic(option->get_single_name());
  }
  return text + '\n';
}

std::string variables() {
  std::string rows;
  for (const runtime::Variable& variable : runtime::variables({})) {
    rows += row(bold(variable.name),
                fmt::format("{} It is {}. Default: {}.", variable.help, variable.allowed, variable.default_value));
  }
  return rows;
}

}  // namespace

std::string manual_page(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  const std::string name = path_of(command, '-');
  std::string page =
      fmt::format(".TH \"{}\" 1 \"\" \"lacuna {}\" \"User Commands\"\n.nh\n.ad l\n", plain(name), version());
  page += section("NAME", fmt::format("{} \\- {}\n", plain(name), plain(summary_of(command))));
  page += section("SYNOPSIS", synopsis(command));
  page += section("ARGUMENTS", options_of(command, true));
  page += section("COMMANDS", subcommands_of(command));
  page += section("OPTIONS", options_of(command, false));
  if (!parent) page += section("ENVIRONMENT", variables());
  if (parent) page += section("SEE ALSO", bold(fmt::format("{}(1)", path_of(*parent, '-'))) + '\n');
  return page;
}

Status write_manual(const CLI::App& command, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / (path_of(command, '-') + ".1");
  std::ofstream file(path);
  file << manual_page(command) << std::flush;
  if (!file) return {Code::InvalidArgument, fmt::format("{} cannot be written", path.string())};
  for (const CLI::App* one : command.get_subcommands(nullptr)) {
    if (Status written = write_manual(*one, folder); !written) return written;
  }
  return {};
}

}  // namespace lacuna::cli
