#include "bindings/checkpoint/file_names.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "runtime/files/output_folder.hpp"

namespace lacuna::checkpoint {

namespace {

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

template <class T>
bool take_number(std::string_view& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number >= 0;
}

}  // namespace

std::string rank_file_name(std::int64_t step, Rank rank) { return fmt::format("ckpt-{}-rank{}.h5", step, rank); }

std::string manifest_name(std::int64_t step) { return fmt::format("manifest-{}.json", step); }

std::optional<SetFileName> parse_set_file_name(std::string_view name) {
  const std::optional<std::string_view> finished = name_when_finished(name);
  SetFileName file;
  file.temporary = finished.has_value();
  file.name = name;
  std::string_view rest = finished.value_or(name);
  if (take(rest, "ckpt-")) {
    if (!take_number(rest, file.step) || !take(rest, "-rank") || !take_number(rest, file.rank.emplace())) return {};
  } else if (!take(rest, "manifest-") || !take_number(rest, file.step)) {
    return {};
  }
  const std::string expected = file.rank ? rank_file_name(file.step, *file.rank) : manifest_name(file.step);
  if (finished.value_or(name) != expected) return {};
  return file;
}

Result<std::vector<SetFileName>> list_set_files(const std::filesystem::path& directory) {
  std::vector<SetFileName> found;
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error == std::errc::no_such_file_or_directory) return found;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::optional<SetFileName> file = parse_set_file_name(entries->path().filename().string());
    if (file) found.push_back(*file);
  }
  if (error) {
    return Status(Code::Io, fmt::format("{}: cannot list the directory: {}", directory.string(), error.message()));
  }
  return found;
}

}  // namespace lacuna::checkpoint
