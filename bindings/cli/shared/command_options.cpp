#include "bindings/cli/shared/command_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/shared/output.hpp"

namespace lacuna::cli {
namespace {

constexpr const char* density_help = "share of each rank's elements that are not zero";

double read_density(const std::string& text) {
  constexpr double least = 1e-9;
  const auto density = read_quantity<quantity::Share>("--density", text);
  if (density >= least && density <= 1) return density;
  throw CLI::ValidationError("--density", fmt::format("{} must be {:g} .. 1", text, least));
}

}  // namespace

int fail(const Status& status) {
  write_error("lacuna: {}\n", status.message());
  return 1;
}

void check_name(const std::string& option, std::string_view what, const std::string& given,
                const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), given) != names.end()) return;
  throw CLI::ValidationError(option, fmt::format("no {} is called '{}'{}; there are: {}", what, given,
                                                 did_you_mean(given, names), fmt::join(names, ", ")));
}

CLI::Option* add_density(CLI::App& command, double& density) {
  return command
      .add_option_function<std::string>(
          "--density", [&density](const std::string& text) { density = read_density(text); }, density_help)
      ->type_name(std::string(quantity::Share::word))
      ->default_str(quantity::Share::text(density));
}

CLI::Option* add_density(CLI::App& command, std::vector<double>& densities) {
  return command
      .add_option_function<std::vector<std::string>>(
          "--density",
          [&densities](const std::vector<std::string>& texts) {
            densities.clear();
            for (const std::string& text : texts) densities.push_back(read_density(text));
          },
          fmt::format("{}; several with commas", density_help))
      ->type_name(std::string(quantity::Share::word))
      ->delimiter(',');
}

void add_method(CLI::App& command, MethodOptions& method) {
  command
      .add_option_function<std::string>(
          "--method",
          [&method](const std::string& text) {
            auto made = method_options(text);
            if (!made) throw CLI::ValidationError("--method", std::string(made.status().message()));
            method = *std::move(made);
          },
          "what the call gives up: METHOD:OPTION=VALUE,...; `lacuna list METHOD` shows its options")
      ->type_name("METHOD");
}

CLI::Option* add_pattern(CLI::App& command, PatternOptions& pattern, const std::string& help) {
  return command
      .add_option_function<std::string>(
          "--pattern",
          [&pattern](const std::string& text) {
            auto read = pattern_options(text);
            if (!read) throw CLI::ValidationError("--pattern", std::string(read.status().message()));
            pattern = *std::move(read);
          },
          help + ": uniform, overlap, clustered, powerlaw:A, blocks:B, rows:M, skewed or gradient")
      ->type_name("PATTERN")
      ->default_str(pattern.text);
}

void add_hosts(CLI::App& command, Hosts& hosts, Rank most, bool alone) {
  CLI::Option* ranks = command.add_option_function<Rank>(
      "-p,--ranks",
      [&hosts, alone](Rank size) {
        hosts = alone ? hosts_with(std::vector(static_cast<std::size_t>(size), 1)) : Hosts(size);
      },
      fmt::format("number of ranks, {}", text_of(Limits<Rank>{1, most})));
  ranks->type_name("N")->default_str(fmt::to_string(hosts.size()))->check(within(Limits<Rank>{1, most}));
  command
      .add_option_function<std::vector<Rank>>(
          "--hosts",
          [&hosts, most](const std::vector<Rank>& on_each) {
            hosts = hosts_with(on_each);
            if (hosts.size() <= most) return;
            throw CLI::ValidationError("--hosts", fmt::format("{} ranks, must be at most {}", hosts.size(), most));
          },
          "instead of --ranks: how many ranks each host has, such as 4,4,2")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->check(within(Limits<Rank>{1, 1024}))
      ->excludes(ranks);
}

}  // namespace lacuna::cli
