#include <CLI/CLI.hpp>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/info/info.hpp"

namespace lacuna::cli {

void add_info(CLI::App& app, int& exit_code) {
  auto form = std::make_shared<InfoForm>(InfoForm::Text);
  CLI::App* command =
      app.add_subcommand("info", "show versions, where a job would listen, and the configuration in effect");
  const auto add = [&](const char* option, InfoForm value, const char* help) {
    return command->add_flag_callback(
        option, [form, value] { *form = value; }, help);
  };
  add("-J,--json", InfoForm::JsonText, "print JSON")
      ->excludes(add("--markdown", InfoForm::Markdown, "print the manual's table of variables instead"));
  command->callback([&exit_code, form] { exit_code = info(*form); });
}

}  // namespace lacuna::cli
