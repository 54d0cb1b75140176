#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "bindings/checkpoint/checkpoint.hpp"
#include "bindings/checkpoint/file_names.hpp"
#include "bindings/checkpoint/files.hpp"
#include "bindings/checkpoint/rank_file.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/files/regular_file.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::checkpoint {

namespace {

using nlohmann::json;

constexpr int schema_version = 1;

json content_of(const Manifest& manifest) {
  json files = json::array();
  for (const FileSum& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  return {{"schema", "lacuna-manifest"},   {"schema_version", schema_version},
          {"step", manifest.step},         {"size", manifest.files.size()},
          {"files", std::move(files)},     {"config_digest", manifest.config_digest},
          {"config", manifest.config_text}};
}

Manifest manifest_of(const json& content) {
  Manifest manifest;
  content.at("step").get_to(manifest.step);
  content.at("config_digest").get_to(manifest.config_digest);
  content.at("config").get_to(manifest.config_text);
  for (const json& file : content.at("files")) {
    manifest.files.push_back({file.at("name").get<std::string>(), file.at("bytes").get<std::uint64_t>(),
                              file.at("sha256").get<std::string>()});
  }
  return manifest;
}

Status check_names(const std::filesystem::path& path, const Manifest& manifest) {
  for (std::size_t rank = 0; rank < manifest.files.size(); ++rank) {
    const std::string expected = rank_file_name(manifest.step, static_cast<Rank>(rank));
    if (manifest.files[rank].name == expected) continue;
    return Status(Code::InvalidArgument, fmt::format("{}: the file of rank {} is called '{}', expected is '{}'",
                                                     path.string(), rank, manifest.files[rank].name, expected));
  }
  if (manifest.step >= 0 && !manifest.files.empty()) return Status::ok();
  return Status(Code::InvalidArgument,
                fmt::format("{}: a set of step {} with {}; a step is not negative and a "
                            "set has a file for each rank",
                            path.string(), manifest.step, count_of(manifest.files.size(), "file")));
}

/// Reads a manifest and checks its own checksum.
Result<Manifest> load_manifest(const std::filesystem::path& directory, std::int64_t step) {
  const std::filesystem::path path = directory / manifest_name(step);
  const Result<std::string> text = read_regular(path, Links::Refused);
  if (!text) return text.status();
  const auto damaged = [&](std::string_view why) {
    return Status(Code::Io, fmt::format("{}: the manifest is damaged: {}", path.string(), why));
  };
  try {
    const json document = json::parse(*text);
    const json& content = document.at("content");
    const Result<std::string> digest = digest_of(content.dump());
    if (!digest) return digest.status();
    if (document.at("sha256") != *digest) return damaged("its checksum differs");
    if (content.at("schema") != "lacuna-manifest" || content.at("schema_version") != schema_version) {
      return damaged(fmt::format("it is not a lacuna-manifest of version {}", schema_version));
    }
    Manifest manifest = manifest_of(content);
    if (manifest.step != step) return damaged(fmt::format("it speaks of step {}", manifest.step));
    if (const Status named = check_names(path, manifest); !named) return named;
    return manifest;
  } catch (const json::exception& error) {
    return damaged(error.what());
  }
}

Status verify(const std::filesystem::path& directory, const Manifest& manifest) {
  const auto size = static_cast<Rank>(manifest.files.size());
  for (Rank rank = 0; rank < size; ++rank) {
    const FileSum& expected = manifest.files[static_cast<std::size_t>(rank)];
    const std::filesystem::path path = directory / expected.name;
    const Result<FileSum> found = sum_of_file(path);
    if (!found) return found.status();
    if (found->bytes != expected.bytes) {
      return Status(Code::Io, fmt::format("{}: the file has {}, its manifest says {}", path.string(),
                                          count_of(found->bytes, "byte"), expected.bytes));
    }
    if (found->sha256 != expected.sha256) {
      return Status(Code::Io, fmt::format("{}: the file's SHA-256 is {}, its manifest says {}", path.string(),
                                          found->sha256, expected.sha256));
    }
    if (const Status opened = check_rank_file({directory, manifest.step, rank, size}); !opened) return opened;
  }
  return Status::ok();
}

/// Returns the steps that have a manifest, newest first.
std::vector<std::int64_t> steps_of(const std::vector<SetFileName>& files) {
  std::vector<std::int64_t> steps;
  for (const SetFileName& file : files) {
    if (!file.rank && !file.temporary) steps.push_back(file.step);
  }
  std::sort(steps.begin(), steps.end(), std::greater<>());
  return steps;
}

/// Returns Ok, or says which name of a manifest or rank file is not a regular file. Whoever put it there does not want
/// it to be passed over, and no file could be written under that name.
Status check_plain(const std::filesystem::path& directory, const std::vector<SetFileName>& files) {
  for (const SetFileName& file : files) {
    if (file.temporary) continue;
    if (Status plain = check_regular(directory / file.name, Links::Refused); !plain) {
      return {plain.code(), fmt::format("{}; it has the name of a checkpoint's file: remove it, or put the file itself "
                                        "there",
                                        plain.message())};
    }
  }
  return Status::ok();
}

Status remove_file(const std::filesystem::path& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return Status::ok();
  const std::string why = std::generic_category().message(errno);
  return Status(Code::Io, fmt::format("{}: cannot remove the file: {}", path.string(), why));
}

}  // namespace

Status write_manifest(const std::filesystem::path& directory, const Manifest& manifest) {
  const std::filesystem::path path = directory / manifest_name(manifest.step);
  if (const Status named = check_names(path, manifest); !named) return named;
  try {
    json content = content_of(manifest);
    Result<std::string> digest = digest_of(content.dump());
    if (!digest) return digest.status();
    const json document = {{"content", std::move(content)}, {"sha256", *std::move(digest)}};
    const std::string text = document.dump(2) + "\n";
    return replace_file(path, std::as_bytes(std::span(text)));
  } catch (const json::exception& error) {
    return Status(Code::InvalidArgument,
                  fmt::format("{}: a text of the manifest is not UTF-8: {}", path.string(), error.what()));
  }
}

Result<SetSearch> newest_set(const std::filesystem::path& directory, Rank size) {
  const Result<std::vector<SetFileName>> files = list_set_files(directory);
  if (!files) return files.status();
  if (Status plain = check_plain(directory, *files); !plain) return plain;
  SetSearch search;
  for (const std::int64_t step : steps_of(*files)) {
    Result<Manifest> manifest = load_manifest(directory, step);
    if (manifest && manifest->files.size() != static_cast<std::size_t>(size)) {
      return Status(Code::InvalidArgument,
                    fmt::format("{}: the checkpoint of step {} is of a job of {}, this job has {}; continue with "
                                "{} or start anew",
                                directory.string(), step, count_of(manifest->files.size(), "rank"), size,
                                count_of(manifest->files.size(), "rank")));
    }
    const Status verified = manifest ? verify(directory, *manifest) : manifest.status();
    if (verified) {
      search.set = *std::move(manifest);
      return search;
    }
    search.passed_over.push_back(fmt::format("step {}: {}", step, verified.message()));
  }
  return search;
}

Status remove_sets(const std::filesystem::path& directory) {
  const Result<std::vector<SetFileName>> files = list_set_files(directory);
  if (!files) return files.status();
  const Status plain = check_plain(directory, *files);
  return plain ? prune(directory, std::numeric_limits<std::int64_t>::max(), 0) : plain;
}

Status prune(const std::filesystem::path& directory, std::int64_t newest, std::size_t keep) {
  const Result<std::vector<SetFileName>> files = list_set_files(directory);
  if (!files) return files.status();
  std::set<std::int64_t> kept;
  std::vector<std::int64_t> removed;
  for (const std::int64_t step : steps_of(*files)) {
    if (step <= newest && kept.size() < keep) {
      kept.insert(step);
    } else {
      removed.push_back(step);
    }
  }
  std::reverse(removed.begin(), removed.end());
  Status status;
  for (const std::int64_t step : removed) {
    if (status) status = remove_file(directory / manifest_name(step));
  }
  if (status && !removed.empty()) status = sync_folder(directory);
  for (const SetFileName& file : *files) {
    const bool left_over = file.temporary || (file.rank && !kept.contains(file.step));
    if (status && file.step <= newest && left_over) status = remove_file(directory / file.name);
  }
  return status;
}

}  // namespace lacuna::checkpoint
