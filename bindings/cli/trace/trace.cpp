#include "bindings/cli/trace/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "bindings/cli/shared/join.hpp"
#include "bindings/cli/shared/output.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/files/regular_file.hpp"
#include "runtime/job/names.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view ending = ".trace.json";
constexpr std::string_view last_line = "]}";

/// A rank's trace. Its first line tells whose it is; every other line but the last holds an event.
struct RankTrace {
  fs::path path;
  fs::file_time_type written;
  std::string job;
  Rank rank = 0;
  Rank size = 0;
  std::uint64_t dropped = 0;
};

Status unusable(const fs::path& path, std::string_view why) {
  return {Code::Io, fmt::format("{} is no trace of a rank: {}", path.string(), why)};
}

Result<RankTrace> open_trace(const fs::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  const Json head = Json::parse(line + std::string(last_line), nullptr, false);
  if (head.is_discarded()) return unusable(path, "its first line is not as lacuna writes it");
  try {
    const Json& origin = head.at("otherData");
    return RankTrace{.path = path,
                     .written = fs::last_write_time(path),
                     .job = origin.at("job"),
                     .rank = origin.at("rank"),
                     .size = origin.at("size"),
                     .dropped = origin.at("dropped")};
  } catch (const std::exception& error) {
    return unusable(path, error.what());
  }
}

Result<std::vector<RankTrace>> find_traces(const fs::path& folder) {
  std::vector<RankTrace> traces;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with("rank-") || !name.ends_with(ending)) continue;
    if (Status plain = check_regular(entry->path(), Links::Followed); !plain) return plain;
    auto trace = open_trace(entry->path());
    if (!trace) return trace.status();
    traces.push_back(*std::move(trace));
  }
  if (error) return Status(Code::Io, fmt::format("{}: {}", folder.string(), error.message()));
  std::sort(traces.begin(), traces.end(), [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
  return traces;
}

/// Copies the events of one trace. Returns nothing if the trace does not end as it should.
std::optional<std::uint64_t> copy_events(const RankTrace& from, std::FILE* to, bool first) {
  std::ifstream stream(from.path);
  std::string line;
  std::getline(stream, line);
  std::uint64_t events = 0;
  while (std::getline(stream, line)) {
    if (line == last_line) return events;
    if (line.ends_with(',')) line.pop_back();
    put(to, first && events == 0 ? "" : ",\n");
    put(to, line);
    ++events;
  }
  return std::nullopt;
}

}  // namespace

std::string MergedTrace::to_string() const {
  std::string text =
      fmt::format("{} of {} in {}", count_of(events, "event"), runtime::name_ranks(ranks), path.string());
  if (dropped > 0) text += fmt::format("; {} had no room (LACUNA_TRACE_EVENTS)", count_of(dropped, "later event"));
  if (!missing.empty()) text += fmt::format("; {} left no trace", runtime::name_ranks(missing));
  if (!left_out.empty()) text += fmt::format("; {} of other jobs left out", joined(left_out, ", "));
  return text;
}

Result<MergedTrace> merge_traces(const fs::path& folder, const fs::path& output) {
  auto traces = find_traces(folder);
  if (!traces) return traces.status();
  if (traces->empty()) {
    return Status(Code::Io, fmt::format("{} holds no rank-R{}; LACUNA_TRACE={} makes ranks write them", folder.string(),
                                        ending, folder.string()));
  }
  const RankTrace newest = *std::max_element(
      traces->begin(), traces->end(), [](const RankTrace& a, const RankTrace& b) { return a.written < b.written; });
  MergedTrace merged{.path = output.empty() ? folder / "trace.json" : output};
  std::erase_if(*traces, [&](const RankTrace& trace) {
    if (trace.job != newest.job) merged.left_out.push_back(trace.path.filename());
    return trace.job != newest.job;
  });
  for (const RankTrace& trace : *traces) {
    merged.ranks.push_back(trace.rank);
    merged.dropped += trace.dropped;
  }
  for (Rank rank = 0; rank < newest.size; ++rank) {
    if (!std::binary_search(merged.ranks.begin(), merged.ranks.end(), rank)) merged.missing.push_back(rank);
  }
  const Status written = write_whole(merged.path, [&](std::FILE* file) -> Status {
    put(file, fmt::format("{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"job\": \"{}\", \"ranks\": [{}], "
                          "\"dropped\": {}}}, \"traceEvents\": [\n",
                          newest.job, joined(merged.ranks, ", "), merged.dropped));
    for (const RankTrace& trace : *traces) {
      const auto events = copy_events(trace, file, merged.events == 0);
      if (!events) return unusable(trace.path, "it is cut off");
      merged.events += *events;
    }
    put(file, fmt::format("\n{}\n", last_line));
    return {};
  });
  if (!written) return written;
  return merged;
}

void merge_traces_since(fs::file_time_type begin) {
  const char* folder = std::getenv("LACUNA_TRACE");
  if (!folder || !*folder) return;
  const auto traces = find_traces(folder);
  if (!traces) return write_error("lacuna launch: {}\n", traces.status().message());
  const auto is_new = [begin](const RankTrace& trace) { return trace.written >= begin; };
  if (std::none_of(traces->begin(), traces->end(), is_new)) return;
  const auto merged = merge_traces(folder);
  write_error("lacuna launch: trace: {}\n", merged ? merged->to_string() : std::string(merged.status().message()));
}

int trace(const TraceOptions& options) {
  const auto merged = merge_traces(options.folder, options.output);
  if (!merged) {
    write_error("lacuna trace: {}\n", merged.status().message());
    return 1;
  }
  write_out("{}\n", merged->to_string());
  return 0;
}

}  // namespace lacuna::cli
