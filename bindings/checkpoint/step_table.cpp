#include "bindings/checkpoint/step_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bindings/checkpoint/files.hpp"
#include "bindings/checkpoint/hdf5_input.hpp"
#include "bindings/checkpoint/hdf5_output.hpp"

namespace lacuna::checkpoint {

namespace {

const std::string steps_table = "/steps";

Attributes schema() { return {{"schema", "lacuna-steps"}, {"schema_version", std::int64_t{1}}}; }

hdf5::Table table_of(const std::string& figure, std::span<const StepRow> rows) {
  hdf5::Table table;
  table.key_name = "method";
  for (const StepRow& row : rows) table.keys.push_back(row.method);
  const auto add = [&](const std::string& name, auto member) {
    hdf5::Table::Column& column = table.columns.emplace_back(hdf5::Table::Column{name, {}});
    for (const StepRow& row : rows) column.values.push_back(static_cast<double>(row.*member));
  };
  add("seed", &StepRow::seed);
  add("step", &StepRow::step);
  add("seconds", &StepRow::seconds);
  add("waited_seconds", &StepRow::waited_seconds);
  add("payload_bytes", &StepRow::payload_bytes);
  add(figure, &StepRow::figure);
  return table;
}

}  // namespace

struct StepTable::Writer {
  std::filesystem::path path;
  std::string figure;
  std::size_t text_bytes = 0;
  hdf5::File file{};
  hdf5::Dataset steps{};
  hsize_t rows = 0;
  Status status{};
};

StepTable::StepTable(std::unique_ptr<Writer> writer) : writer_(std::move(writer)) {}
StepTable::StepTable(StepTable&&) noexcept = default;
StepTable& StepTable::operator=(StepTable&&) noexcept = default;
StepTable::~StepTable() {
  if (!writer_) return;
  const hdf5::Turn turn;
  writer_.reset();
}

Result<StepTable> StepTable::create(std::filesystem::path path, const Layout& layout, std::span<const StepRow> rows) {
  const hdf5::Turn turn;
  auto writer = std::make_unique<Writer>(Writer{.path = std::move(path),
                                                .figure = layout.figure,
                                                .text_bytes = hdf5::text_bytes_of(layout.methods),
                                                .rows = rows.size()});
  const hdf5::Table table = table_of(layout.figure, rows);
  hdf5::Output output(writer->path, 0, hdf5::Format::Swmr);
  output.attributes("/", schema());
  output.attributes("/", layout.attributes);
  output.growing_table(steps_table, table, writer->text_bytes);
  output.attributes(steps_table,
                    {{"description",
                      "a row for each step: its method and seed, how many steps are done, the cost of "
                      "all steps so far on rank 0, and the step's own figure as the mean over the ranks"},
                     {"unit", "seconds and waited_seconds: seconds; payload_bytes: bytes; all others: numbers"}});
  const Status made =
      output.finish([&](std::span<const std::byte> image) { return replace_file(writer->path, image); });
  if (!made) return made;
  const hdf5::PropertyList access = hdf5::access_of(hdf5::Format::Swmr);
  writer->file = hdf5::File(H5Fopen(writer->path.c_str(), H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, access.get()));
  if (writer->file) writer->steps = hdf5::Dataset(H5Dopen2(writer->file.get(), steps_table.c_str(), H5P_DEFAULT));
  if (!writer->steps) return hdf5::failure(writer->path, "open the file for readers and a writer");
  return StepTable(std::move(writer));
}

Status StepTable::append(std::span<const StepRow> rows) {
  Writer& writer = *writer_;
  if (!writer.status || rows.empty()) return writer.status;
  const hdf5::Turn turn;
  const hdf5::Table table = table_of(writer.figure, rows);
  const hdf5::Type record = hdf5::record_type(table, writer.text_bytes);
  const std::vector<char> records = hdf5::records_of(table, writer.text_bytes);
  const hsize_t begin = writer.rows, count = rows.size(), end = begin + count;
  const hdf5::Space memory(H5Screate_simple(1, &count, nullptr));
  bool written = H5Dset_extent(writer.steps.get(), &end) >= 0;
  const hdf5::Space space(H5Dget_space(writer.steps.get()));
  written = written && H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &begin, nullptr, &count, nullptr) >= 0;
  written = written &&
            H5Dwrite(writer.steps.get(), record.get(), memory.get(), space.get(), H5P_DEFAULT, records.data()) >= 0;
  written = written && H5Fflush(writer.file.get(), H5F_SCOPE_GLOBAL) >= 0;
  if (!written) writer.status = hdf5::failure(writer.path, "add steps");
  writer.rows = end;
  return writer.status;
}

Result<Steps> read_steps(const std::filesystem::path& path, std::size_t first) {
  const hdf5::Turn turn;
  const Result<hdf5::Input> input = hdf5::Input::open(path, hdf5::Format::Swmr);
  if (!input) return input.status();
  Result<Attributes> attributes = input->attributes("/");
  if (!attributes) return attributes.status();
  const Attributes expected = schema();
  if (attributes->size() < expected.size() || !std::equal(expected.begin(), expected.end(), attributes->begin())) {
    return Status(Code::Io, fmt::format("{}: this is not a file of steps of lacuna, version 1", path.string()));
  }
  attributes->erase(attributes->begin(), attributes->begin() + static_cast<std::ptrdiff_t>(expected.size()));
  const Result<hdf5::Table> table = input->table(steps_table, first);
  if (!table) return table.status();
  constexpr std::size_t columns = 6;
  if (table->columns.size() != columns) {
    return Status(Code::Io, fmt::format("{}: '{}' does not have {} numbers", path.string(), steps_table, columns));
  }
  Steps steps{.attributes = *std::move(attributes), .figure = table->columns.back().name, .rows = {}};
  for (std::size_t i = 0; i < table->keys.size(); ++i) {
    const auto number = [&](std::size_t column) { return table->columns[column].values[i]; };
    steps.rows.push_back({.method = table->keys[i],
                          .seed = static_cast<std::int64_t>(number(0)),
                          .step = static_cast<std::int64_t>(number(1)),
                          .seconds = number(2),
                          .waited_seconds = number(3),
                          .payload_bytes = number(4),
                          .figure = number(5)});
  }
  return steps;
}

}  // namespace lacuna::checkpoint
