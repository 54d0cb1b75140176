#include "bindings/checkpoint/gradient_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "bindings/checkpoint/gradient_body.hpp"
#include "runtime/files/regular_file.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::checkpoint {
namespace {

using hdf5::failure;

constexpr std::uint64_t most_compressed = 1100;  // at most about that many bytes come out of one byte of deflate

/// Returns the type of IEEE 754's binary16, as it lies in memory.
hdf5::Type half_type() {
  hdf5::Type type(H5Tcopy(H5T_IEEE_F32LE));
  const bool made = H5Tset_fields(type.get(), 15, 10, 5, 0, 10) >= 0 && H5Tset_ebias(type.get(), 15) >= 0 &&
                    H5Tset_precision(type.get(), 16) >= 0 && H5Tset_size(type.get(), 2) >= 0;
  return made ? std::move(type) : hdf5::Type();
}

/// Returns the dataset's attribute "dtype" if it is a text.
std::string dtype_attribute(hid_t dataset) {
  const hdf5::AttributeHandle attribute(H5Aopen(dataset, "dtype", H5P_DEFAULT));
  const hdf5::Type type(attribute ? H5Aget_type(attribute.get()) : -1);
  const hdf5::Space space(attribute ? H5Aget_space(attribute.get()) : -1);
  if (!type || H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1) return {};
  if (H5Tis_variable_str(type.get()) > 0) {
    char* text = nullptr;
    if (H5Aread(attribute.get(), type.get(), &text) < 0 || text == nullptr) return {};
    std::string copy = text;
    H5free_memory(text);
    return copy;
  }
  std::string text(H5Tget_size(type.get()), '\0');
  if (H5Aread(attribute.get(), type.get(), text.data()) < 0) return {};
  return text.substr(0, text.find('\0'));
}

bool is_one_of(hid_t type, std::initializer_list<hid_t> types) {
  return std::any_of(types.begin(), types.end(), [&](hid_t one) { return H5Tequal(type, one) > 0; });
}

std::optional<Dtype> dtype_of(hid_t dataset, hid_t type) {
  if (is_one_of(type, {H5T_IEEE_F32LE, H5T_IEEE_F32BE})) return Dtype::F32;
  if (is_one_of(type, {H5T_IEEE_F64LE, H5T_IEEE_F64BE})) return Dtype::F64;
  const hdf5::Type half = half_type();
  if (is_one_of(type, {half.get()})) return Dtype::F16;
  if (!is_one_of(type, {H5T_STD_U16LE, H5T_STD_U16BE})) return std::nullopt;
  const std::optional<Dtype> named = parse_dtype(dtype_attribute(dataset));
  return named == Dtype::BF16 || named == Dtype::F16 ? named : std::nullopt;
}

/// Returns the number at the end of a name that begins with `prefix`, or nothing for any other name.
std::optional<std::int64_t> number_in(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

struct Listing {
  std::vector<std::string> names;
  std::string link;  ///< the name of a member that is no hard link
};

herr_t collect(hid_t, const char* name, const H5L_info_t* info, void* to) {
  auto& listing = *static_cast<Listing*>(to);
  if (info->type != H5L_TYPE_HARD) listing.link = name;
  listing.names.emplace_back(name);
  return 0;
}

}  // namespace

std::string step_name(std::int64_t step) { return fmt::format("{}/{:06}", steps_name, step); }
std::string rank_name(Rank rank) { return fmt::format("rank-{}", rank); }

Status GradientFile::Body::unexpected(const std::string& object, const std::string& what) const {
  return {Code::Io, fmt::format("{}: '{}' {}", path.string(), object, what)};
}

Result<std::vector<std::string>> GradientFile::Body::names(const std::string& group) const {
  const hdf5::Group owner(H5Gopen2(file.get(), group.c_str(), H5P_DEFAULT));
  if (!owner) return failure(path, fmt::format("open the group '{}'", group));
  Listing found;
  if (H5Literate(owner.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &found) < 0) {
    return failure(path, fmt::format("list '{}'", group));
  }
  if (!found.link.empty()) return unexpected(group + "/" + found.link, "is a link; only what lies there is read");
  std::sort(found.names.begin(), found.names.end());
  return std::move(found.names);
}

Status GradientFile::Body::load() {
  hsize_t length = 0;
  if (H5Fget_filesize(file.get(), &length) < 0) return failure(path, "tell the file's length");
  bytes = length;
  const Result<std::vector<std::string>> found = names(steps_name);
  if (!found) return found.status();
  for (const std::string& name : *found) {
    const std::optional<std::int64_t> number = number_in(name, "");
    if (!number) return unexpected(steps_name, fmt::format("holds '{}', which is no step's number", name));
    steps.push_back({.number = *number, .name = fmt::format("{}/{}", steps_name, name)});
  }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.number < b.number; });
  const auto twice =
      std::adjacent_find(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.number == b.number; });
  if (twice != steps.end()) return unexpected(steps_name, fmt::format("holds step {} twice", twice->number));
  return load_marks();
}

Status GradientFile::Body::load_marks() {
  if (H5Lexists(file.get(), recorded_name, H5P_DEFAULT) <= 0) return Status::ok();
  const Result<hdf5::Dataset> marks = dataset(recorded_name);
  if (!marks) return marks.status();
  const hdf5::Space space(H5Dget_space(marks->get()));
  std::vector<std::uint8_t> complete(steps.size());
  if (H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(steps.size())) {
    return unexpected(recorded_name, fmt::format("has not one number for each of {}", count_of(steps.size(), "step")));
  }
  if (steps.empty()) return Status::ok();
  if (H5Dread(marks->get(), H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, complete.data()) < 0) {
    return failure(path, fmt::format("read '{}'", recorded_name));
  }
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].complete = complete[i] != 0;
  return Status::ok();
}

const GradientFile::Body::Step* GradientFile::Body::find(std::int64_t step) const {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const Step& one) { return one.number == step; });
  return found == steps.end() ? nullptr : &*found;
}

Result<std::string> GradientFile::Body::group_of(std::int64_t step, Rank rank) const {
  const Step* found = find(step);
  if (found == nullptr) {
    return Status(Code::InvalidArgument, fmt::format("{}: it has no step {}", path.string(), step));
  }
  return found->name + "/" + rank_name(rank);
}

Result<hdf5::Dataset> GradientFile::Body::dataset(const std::string& object) const {
  hdf5::Dataset dataset(H5Dopen2(file.get(), object.c_str(), H5P_DEFAULT));
  if (!dataset) return failure(path, fmt::format("open the dataset '{}'", object));
  const hdf5::PropertyList creation(H5Dget_create_plist(dataset.get()));
  if (H5Pget_layout(creation.get()) == H5D_VIRTUAL || H5Pget_external_count(creation.get()) != 0) {
    return unexpected(object, "has its data in another file");
  }
  const hdf5::Space space(H5Dget_space(dataset.get()));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  const hdf5::Type type(H5Dget_type(dataset.get()));
  const std::uint64_t most = bytes * most_compressed / std::max<std::size_t>(H5Tget_size(type.get()), 1);
  if (count < 0 || static_cast<std::uint64_t>(count) > most) {
    return unexpected(object,
                      fmt::format("is said to have {}, more than the file can hold", count_of(count, "element")));
  }
  return dataset;
}

Result<StateItem> GradientFile::Body::describe(const std::string& group, const std::string& name) const {
  const std::string object = group + "/" + name;
  const Result<hdf5::Dataset> found = dataset(object);
  if (!found) return found.status();
  const hdf5::Type type(H5Dget_type(found->get()));
  const std::optional<Dtype> dtype = dtype_of(found->get(), type.get());
  if (!dtype) {
    return unexpected(object,
                      "is neither of 16-, 32- or 64-bit floats nor of 16-bit unsigned integers with an "
                      "attribute dtype of bf16 or f16");
  }
  const hdf5::Space space(H5Dget_space(found->get()));
  return StateItem{name, *dtype, nullptr, static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get()))};
}

Result<GradientFile> GradientFile::open(std::filesystem::path path) {
  const hdf5::Turn turn;
  const Result<runtime::Fd> regular = open_regular(path, Links::Refused);
  if (!regular) return regular.status();
  const std::string same_file = fmt::format("/proc/self/fd/{}", regular->get());  // HDF5 would wait for a pipe
  const auto body = std::make_shared<GradientFile::Body>();
  body->path = std::move(path);
  body->file = hdf5::File(H5Fopen(same_file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  if (!body->file) return failure(body->path, "open the file");
  if (Status loaded = body->load(); !loaded) return loaded;
  return GradientFile(body);
}

std::vector<std::int64_t> GradientFile::steps() const {
  std::vector<std::int64_t> numbers;
  for (const Body::Step& step : body_->steps) {
    if (step.complete) numbers.push_back(step.number);
  }
  return numbers;
}

Result<Rank> GradientFile::ranks(std::int64_t step) const {
  const hdf5::Turn turn;
  const Body::Step* found = body_->find(step);
  if (found == nullptr) return body_->group_of(step, 0).status();
  const Result<std::vector<std::string>> names = body_->names(found->name);
  if (!names) return names.status();
  for (Rank rank = 0; static_cast<std::size_t>(rank) < names->size(); ++rank) {
    if (std::find(names->begin(), names->end(), rank_name(rank)) != names->end()) continue;
    return body_->unexpected(found->name, fmt::format("lacks {}: it has {}", rank_name(rank), fmt::join(*names, ", ")));
  }
  if (names->empty()) return body_->unexpected(found->name, "is empty");
  return static_cast<Rank>(names->size());
}

Result<std::vector<StateItem>> GradientFile::tensors(std::int64_t step, Rank rank) const {
  const hdf5::Turn turn;
  const Result<std::string> group = body_->group_of(step, rank);
  if (!group) return group.status();
  const Result<std::vector<std::string>> names = body_->names(*group);
  if (!names) return names.status();
  std::vector<StateItem> tensors;
  for (const std::string& name : *names) {
    Result<StateItem> tensor = body_->describe(*group, name);
    if (!tensor) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

Status GradientFile::read(std::int64_t step, Rank rank, const StateItem& tensor) const {
  const hdf5::Turn turn;
  if (tensor.count == 0) return Status::ok();
  const Result<std::string> group = body_->group_of(step, rank);
  if (!group) return group.status();
  const std::string object = *group + "/" + tensor.name;
  const Result<hdf5::Dataset> dataset = body_->dataset(object);
  if (!dataset) return dataset.status();
  const hdf5::Type stored(H5Dget_type(dataset->get()));
  const hdf5::Type half = half_type();
  const bool as_half = tensor.dtype == Dtype::F16 && H5Tget_class(stored.get()) == H5T_FLOAT;
  const hid_t wanted = as_half ? half.get() : hdf5::memory_type(tensor.dtype);
  if (H5Dread(dataset->get(), wanted, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.data) < 0) {
    return failure(body_->path, fmt::format("read '{}'", object));
  }
  return Status::ok();
}

}  // namespace lacuna::checkpoint
