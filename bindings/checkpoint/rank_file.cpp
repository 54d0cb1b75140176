#include "bindings/checkpoint/rank_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/checkpoint/file_names.hpp"
#include "bindings/checkpoint/files.hpp"
#include "bindings/checkpoint/hdf5_input.hpp"
#include "bindings/checkpoint/hdf5_output.hpp"

namespace lacuna::checkpoint {

namespace {

std::filesystem::path path_of(const RankFile& file) { return file.directory / rank_file_name(file.step, file.rank); }

Status check_arguments(const RankFile& file) {
  if (file.step >= 0 && file.rank >= 0 && file.rank < file.size) return Status::ok();
  return Status(Code::InvalidArgument,
                fmt::format("checkpoint of step {}, rank {} of {}: a step is not negative, and 0 <= rank < size",
                            file.step, file.rank, file.size));
}

Attributes identity(const RankFile& file) {
  return {{"schema", "lacuna-checkpoint"},
          {"schema_version", std::int64_t{1}},
          {"step", file.step},
          {"rank", std::int64_t{file.rank}},
          {"size", std::int64_t{file.size}}};
}

std::string describe(const Attributes& attributes) {
  std::string text;
  for (const Attribute& attribute : attributes) {
    const auto append = [&](const auto& value) { text += fmt::format("{} = {}; ", attribute.name, value); };
    std::visit(append, attribute.value);
  }
  if (text.size() > 2) text.resize(text.size() - 2);
  return text;
}

Status check_identity(const hdf5::Input& input, const RankFile& file) {
  const Result<Attributes> found = input.attributes("/");
  if (!found) return found.status();
  const Attributes expected = identity(file);
  if (*found == expected) return Status::ok();
  return Status(Code::InvalidArgument, fmt::format("{}: the file says '{}', expected is '{}'", path_of(file).string(),
                                                   describe(*found), describe(expected)));
}

std::string describe(const StateItem& item) {
  return fmt::format("'{}' ({} x {})", item.name, item.count, to_string(item.dtype));
}

/// Checks that the file holds exactly the items that are asked for.
Status check_items(const hdf5::Input& input, const RankFile& file, std::span<const StateItem> items) {
  Result<std::vector<std::string>> names = input.names("/state");
  if (!names) return names.status();
  const auto mismatch = [&](const std::string& stored, const std::string& asked) {
    return Status(Code::InvalidArgument, fmt::format("{}: the file holds {}, but the program's state has {}",
                                                     path_of(file).string(), stored, asked));
  };
  for (const StateItem& item : items) {
    const auto name = std::find(names->begin(), names->end(), item.name);
    if (name == names->end()) {
      return mismatch(fmt::format("the items [{}]", fmt::join(*input.names("/state"), ", ")), describe(item));
    }
    names->erase(name);
    const Result<StateItem> stored = input.describe("/state", item.name);
    if (!stored) return stored.status();
    if (stored->dtype != item.dtype || stored->count != item.count) return mismatch(describe(*stored), describe(item));
    if (item.data == nullptr && item.count > 0) return mismatch(describe(*stored), "no memory for it");
  }
  if (!names->empty()) {
    return mismatch(fmt::format("the item '{}'", names->front()), fmt::format("only {} others", items.size()));
  }
  return Status::ok();
}

}  // namespace

Result<FileSum> write_rank_file(const RankFile& file, std::span<const StateItem> items, const Attributes& attributes) {
  if (const Status valid = check_arguments(file); !valid) return valid;
  const hdf5::Turn turn;
  std::size_t bytes = 0;
  for (const StateItem& item : items) bytes += item.count * size_of(item.dtype);
  for (const Attribute& attribute : attributes) {
    if (const auto* text = std::get_if<std::string>(&attribute.value)) bytes += text->size();
  }
  const std::filesystem::path path = path_of(file);
  hdf5::Output output(path, bytes);
  output.attributes("/", identity(file));
  output.group("/state");
  for (const StateItem& item : items) output.array("/state", item);
  output.group("/attributes");
  output.attributes("/attributes", attributes);

  FileSum sum;
  const Status written = output.finish([&](std::span<const std::byte> image) {
    Result<FileSum> summed = sum_of(path.filename().string(), image);
    if (!summed) return summed.status();
    sum = *std::move(summed);
    return replace_file(path, image);
  });
  if (!written) return written;
  return sum;
}

Status check_rank_file(const RankFile& file) {
  const hdf5::Turn turn;
  const Result<hdf5::Input> input = hdf5::Input::open(path_of(file));
  return input ? check_identity(*input, file) : input.status();
}

Result<Attributes> read_rank_file(const RankFile& file, std::span<const StateItem> items) {
  if (const Status valid = check_arguments(file); !valid) return valid;
  const hdf5::Turn turn;
  const Result<hdf5::Input> input = hdf5::Input::open(path_of(file));
  if (!input) return input.status();
  Status status = check_identity(*input, file);
  if (status) status = check_items(*input, file, items);
  for (const StateItem& item : items) {
    if (status) status = input->read("/state", item);
  }
  if (!status) return status;
  return input->attributes("/attributes");
}

Result<Attributes> read_rank_attributes(const RankFile& file) {
  if (const Status valid = check_arguments(file); !valid) return valid;
  const hdf5::Turn turn;
  const Result<hdf5::Input> input = hdf5::Input::open(path_of(file));
  if (!input) return input.status();
  const Status known = check_identity(*input, file);
  return known ? input->attributes("/attributes") : known;
}

std::string hdf5_version() {
  const hdf5::Turn turn;
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace lacuna::checkpoint
