#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "runtime/config/config.hpp"
#include "tests/bindings/cli/lacuna_command.hpp"
#include "tests/support/environment.hpp"

namespace lacuna::cli {
namespace {

/// The pages that the command writes, by their names.
std::map<std::string, std::string> pages() {
  const test::Folder folder;
  const Outcome written = lacuna({"manual", folder.path()});
  EXPECT_EQ(written.exit_code, 0) << written.output;
  std::map<std::string, std::string> pages;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    pages.emplace(file.path().filename().string(), folder.read(file.path().filename().string()));
  }
  return pages;
}

/// The text as a page has it.
std::string in_page(const std::string& text) { return std::regex_replace(text, std::regex("-"), "\\-"); }

TEST(Manual, HasAPageForEachCommandWithAllThatItsHelpSays) {
  const auto all = pages();
  const std::string help = lacuna({"--help"}).output;
  const std::regex row("\n  ([a-z]+) +[a-z]");
  std::size_t commands = 0;
  for (std::sregex_iterator found(help.begin(), help.end(), row), end; found != end; ++found, ++commands) {
    const std::string name = (*found)[1];
    const auto page = all.find(fmt::format("lacuna-{}.1", name));
    ASSERT_NE(page, all.end()) << name;
    EXPECT_NE(all.at("lacuna.1").find(in_page("lacuna-" + name + "(1)")), std::string::npos) << name;
    const std::string own = lacuna({name, "--help"}).output;
    const std::regex option("\n  (?:-[a-zA-Z],)?(--[a-z_-]+)");
    for (std::sregex_iterator one(own.begin(), own.end(), option); one != end; ++one) {
      const std::string shown = fmt::format("\\fB{}\\fR", in_page((*one)[1]));
      EXPECT_NE(page->second.find(shown), std::string::npos) << name << ' ' << (*one)[1];
    }
  }
  EXPECT_GE(commands, 15u);
  EXPECT_EQ(all.size(), commands + 2) << "beside them, lacuna.1 and lacuna-graph-topology.1";
  EXPECT_NE(
      all.at("lacuna-perf.1").find("\\fB\\-e\\fR, \\fB\\-\\-maxbytes\\fR \\fISIZE\\fR\nlargest size (default: 32M)"),
      std::string::npos)
      << all.at("lacuna-perf.1");
}

TEST(Manual, HasAllVariables) {
  const std::string page = pages().at("lacuna.1");
  for (const runtime::Variable& variable : runtime::variables({})) {
    EXPECT_NE(page.find(fmt::format("\\fB{}\\fR\n", variable.name)), std::string::npos) << variable.name;
  }
}

TEST(Manual, IsWrittenOnlyIntoAFolder) {
  const Outcome refused = lacuna({"manual", "/no/such/folder"});
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_NE(refused.output.find("/no/such/folder"), std::string::npos) << refused.output;
}

}  // namespace
}  // namespace lacuna::cli
