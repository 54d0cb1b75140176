#include "bindings/cli/shared/command_options.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "algorithms/registry/registry.hpp"

namespace lacuna::cli {

int fail(const Status& status) {
  fmt::print(stderr, "lacuna: {}\n", status.message());
  return 1;
}

void add_size(CLI::App& command, const std::string& option, std::size_t& target, const std::string& help) {
  constexpr std::uint64_t tebibyte = std::uint64_t{1} << 40;
  command.add_option(option, target, help)
      ->check(CLI::Range(std::uint64_t{0}, tebibyte))
      ->transform(CLI::AsSizeValue(false));
}

void add_method(CLI::App& command, MethodOptions& method) {
  command.add_option_function<std::string>(
      "--method",
      [&method](const std::string& text) {
        auto made = method_options(text);
        if (!made) throw CLI::ValidationError("--method", std::string(made.status().message()));
        method = *std::move(made);
      },
      "what the call gives up: METHOD:OPTION=VALUE,...; `lacuna list METHOD` shows its options");
}

CLI::Option* add_pattern(CLI::App& command, PatternOptions& pattern, const std::string& help) {
  return command.add_option_function<std::string>(
      "--pattern",
      [&pattern](const std::string& text) {
        auto read = pattern_options(text);
        if (!read) throw CLI::ValidationError("--pattern", std::string(read.status().message()));
        pattern = *std::move(read);
      },
      help + ": uniform, overlap, clustered, powerlaw:A, blocks:B, rows:M, skewed or gradient");
}

void add_hosts(CLI::App& command, Hosts& hosts, Rank most, bool alone) {
  CLI::Option* ranks = command.add_option_function<Rank>(
      "-p,--ranks",
      [&hosts, alone](Rank size) {
        hosts = alone ? hosts_with(std::vector(static_cast<std::size_t>(size), 1)) : Hosts(size);
      },
      "number of ranks");
  ranks->check(CLI::Range(1, most));
  command
      .add_option_function<std::vector<Rank>>(
          "--hosts",
          [&hosts, most](const std::vector<Rank>& on_each) {
            hosts = hosts_with(on_each);
            if (hosts.size() <= most) return;
            throw CLI::ValidationError("--hosts", fmt::format("{} ranks, must be at most {}", hosts.size(), most));
          },
          "instead of --ranks: how many ranks each host has, such as 4,4,2")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->excludes(ranks);
}

}  // namespace lacuna::cli
