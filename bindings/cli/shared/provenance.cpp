#include "bindings/cli/shared/provenance.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <string_view>
#include <vector>

#include "bindings/cli/shared/versions.hpp"
#include "runtime/values/processors.hpp"

namespace lacuna::cli {
namespace {

/// Returns the texts of a file of /proc, each of which ends with a zero byte.
std::vector<std::string> texts_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> texts;
  for (std::string text; std::getline(file, text, '\0');) texts.push_back(text);
  return texts;
}

std::string processor() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "unknown";
}

Json machine() {
  utsname names{};
  ::uname(&names);
  return {{"host", names.nodename},
          {"system", fmt::format("{} {} {}", names.sysname, names.release, names.machine)},
          {"processor", processor()},
          {"processors", usable_processors()}};
}

/// Returns the variables that the process was started with, without what a launcher tells each rank of its job. UCX's
/// transport adds some of its own, which do not count.
Json environment() {
  constexpr std::array of_the_job = {"LACUNA_RANK", "LACUNA_SIZE", "LACUNA_STORE", "LACUNA_AGGREGATORS", "LACUNA_KEY"};
  std::vector<std::string> lines = texts_of("/proc/self/environ");
  std::sort(lines.begin(), lines.end());
  Json all = Json::object();
  for (const std::string& line : lines) {
    const std::string name = line.substr(0, line.find('='));
    const std::string value = line.substr(std::min(name.size() + 1, line.size()));
    if (!name.starts_with("LACUNA_") && !name.starts_with("UCX_")) continue;
    if (std::find(of_the_job.begin(), of_the_job.end(), name) != of_the_job.end()) continue;
    if (name == "UCX_POSIX_DIR" && value.starts_with("/dev/shm/lacuna-segments-")) continue;
    all[name] = value;
  }
  return all;
}

}  // namespace

Json provenance() {
  const Versions all = versions();
  return {{"date_utc", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"machine", machine()},
          {"versions",
           {{"lacuna", all.lacuna},
            {"commit", all.commit},
            {"compiler", all.compiler},
            {"build", all.build},
            {"ucx", all.ucx},
            {"kokkos", all.kokkos}}},
          {"environment", environment()},
          {"command_line", texts_of("/proc/self/cmdline")}};
}

std::string json_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace lacuna::cli
