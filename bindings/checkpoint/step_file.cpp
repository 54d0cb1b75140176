#include "bindings/checkpoint/step_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

#include "bindings/checkpoint/hdf5_input.hpp"
#include "bindings/checkpoint/hdf5_output.hpp"
#include "bindings/checkpoint/sealed_file.hpp"

namespace lacuna::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

const std::string root = "/";
const std::string number_dataset = "step";
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

Attributes schema() { return {{"schema", "lacuna-steps"}, {"schema_version", step_file_version}}; }

/// Returns the table with so many places, and with what the earlier table knows of the first `kept` ones.
StepTable taken_over(StepTable table, const StepTable& earlier, std::size_t places, std::size_t kept) {
  kept = std::min({kept, places, earlier.places()});
  table.known.assign(places, 0);
  std::copy_n(earlier.known.begin(), kept, table.known.begin());
  for (StepColumn& column : table.columns) {
    column.values.assign(places, unknown);
    for (const StepColumn& old : earlier.columns) {
      if (old.name == column.name) std::copy_n(old.values.begin(), kept, column.values.begin());
    }
  }
  return table;
}

std::vector<std::int64_t> numbers_of(const StepTable& table) {
  std::vector<std::int64_t> numbers(table.places());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = table.known[i] != 0 ? static_cast<std::int64_t>(i) + 1 : 0;
  return numbers;
}

/// Returns where the elements of these datasets lie, ascending, as one where they lie side by side.
std::vector<Stretch> elements_at(std::vector<std::uint64_t> begins, std::size_t places) {
  const std::uint64_t length = places * sizeof(double);
  std::sort(begins.begin(), begins.end());
  std::vector<Stretch> open;
  for (const std::uint64_t begin : begins) {
    if (!open.empty() && open.back().begin + open.back().length == begin) {
      open.back().length += length;
    } else {
      open.push_back({begin, length});
    }
  }
  return open;
}

Status damaged(const std::filesystem::path& path, std::string_view what) {
  return {Code::Io, fmt::format("{} is no file of steps that this lacuna can read: {}", path.string(), what)};
}

Status check_schema(const std::filesystem::path& path, const Attributes& attributes) {
  const auto* name = find_attribute<std::string>(attributes, "schema");
  const auto* version = find_attribute<std::int64_t>(attributes, "schema_version");
  if (name == nullptr || version == nullptr || *name != "lacuna-steps") return damaged(path, "it has another schema");
  if (*version == step_file_version) return Status::ok();
  return damaged(path, fmt::format("its layout has version {}, not {}", *version, step_file_version));
}

}  // namespace

Result<StepFile> StepFile::make(const std::filesystem::path& path, StepTable table, std::size_t places,
                                const StepTable& earlier, std::size_t kept) {
  table = taken_over(std::move(table), earlier, places, kept);
  std::vector<std::int64_t> numbers = numbers_of(table);

  const hdf5::Turn turn;
  hdf5::Output output(path, (table.columns.size() + 1) * places * sizeof(double));
  output.attributes(root, schema());
  output.attributes(root, table.about);
  const auto add = [&](const std::string& name, Dtype dtype, void* data) {
    output.array("", {.name = name, .dtype = dtype, .data = data, .count = places});
    return output.place_of(root + name);
  };
  StepFile made(path, places);
  made.begins_.push_back(add(number_dataset, Dtype::I64, numbers.data()));
  for (StepColumn& column : table.columns) {
    made.begins_.push_back(add(column.name, Dtype::F64, column.values.data()));
    output.attributes(root + column.name, column.about);
  }
  const std::vector<Stretch> open = elements_at(made.begins_, places);
  const Status written =
      output.finish([&](std::span<const std::byte> bytes) { return replace_sealed(path, bytes, open); });
  if (!written) return written;
  for (std::uint64_t& begin : made.begins_) begin += seal_bytes(open);
  made.file_ = runtime::Fd(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (made.file_.is_open()) return made;
  return Status(Code::Io, fmt::format("{} cannot be written: {}", path.string(), std::strerror(errno)));
}

Status StepFile::write(std::size_t first, std::span<const double> rows) const {
  const std::size_t width = begins_.size() - 1, count = rows.size() / width;
  if (first + count > places_) {
    return {Code::InvalidArgument, fmt::format("{} has places for {} steps; {} to {} have none", path_.string(),
                                               places_, first + 1, first + count)};
  }
  std::vector<double> values(count);
  for (std::size_t column = 0; column < width; ++column) {
    for (std::size_t i = 0; i < count; ++i) values[i] = rows[i * width + column];
    if (Status written = put(values.data(), count, begins_[1 + column], first); !written) return written;
  }
  std::vector<std::int64_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::int64_t>(first + i + 1);
  return put(numbers.data(), count, begins_[0], first);
}

/// Writes elements of eight bytes of the dataset that begins at a place in the file.
Status StepFile::put(const void* data, std::size_t count, std::uint64_t begin, std::size_t first) const {
  const auto* bytes = static_cast<const char*>(data);
  std::size_t left = count * sizeof(double);
  auto at = static_cast<off_t>(begin + first * sizeof(double));
  while (left > 0) {
    const ssize_t written = ::pwrite(file_.get(), bytes, left, at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return {Code::Io, fmt::format("{} cannot be written: {}", path_.string(), std::strerror(errno))};
    bytes += written;
    left -= static_cast<std::size_t>(written);
    at += written;
  }
  return Status::ok();
}

Result<StepTable> read_steps(const std::filesystem::path& path) {
  const hdf5::Turn turn;
  const Result<hdf5::Input> input = hdf5::Input::open_sealed(path, "a file of steps");
  if (!input) return input.status();
  Result<Attributes> about = input->attributes(root);
  if (!about) return about.status();
  if (Status known = check_schema(path, *about); !known) return known;
  std::erase_if(*about, [](const Attribute& one) { return one.name == "schema" || one.name == "schema_version"; });
  const Result<std::vector<std::string>> names = input->names(root);
  if (!names) return names.status();

  StepTable table{.about = *std::move(about)};
  std::vector<std::int64_t> numbers;
  if (Status done = input->read_all("", number_dataset, Dtype::I64, 1, numbers); !done) return done;
  for (const std::int64_t number : numbers) table.known.push_back(number > 0 ? 1 : 0);
  for (const std::string& name : *names) {
    if (name == number_dataset) continue;
    StepColumn column{.name = name};
    Result<Attributes> attributes = input->attributes(root + name);
    if (!attributes) return attributes.status();
    std::erase_if(*attributes, [](const Attribute& one) { return one.name == "dtype"; });
    column.about = *std::move(attributes);
    if (Status done = input->read_all("", name, Dtype::F64, 1, column.values); !done) return done;
    if (column.values.size() != table.places()) return damaged(path, fmt::format("'{}' has another length", name));
    table.columns.push_back(std::move(column));
  }
  return table;
}

}  // namespace lacuna::checkpoint
