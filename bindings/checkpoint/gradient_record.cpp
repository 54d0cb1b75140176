// Writes recorded gradients: HDF5 lays the file out once, then lacuna itself fills it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bindings/checkpoint/gradient_body.hpp"
#include "bindings/checkpoint/hdf5_input.hpp"
#include "bindings/checkpoint/hdf5_output.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/fd.hpp"

namespace lacuna::checkpoint {

/// Finds and fills the places of a recording's data.
class GradientRoom {
 public:
  static Result<GradientRoom> open(const std::filesystem::path& path) {
    Result<GradientFile> file = GradientFile::open(path);
    if (!file) return file.status();
    GradientRoom room(*std::move(file));
    room.to_ = runtime::Fd(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    return room.to_.is_open() ? Result<GradientRoom>(std::move(room)) : room.unwritable();
  }

  Status write(std::int64_t step, Rank rank, const StateItem& tensor) {
    if (tensor.count == 0) return Status::ok();
    const GradientFile::Body& body = *file_.body_;
    const Result<std::string> group = body.group_of(step, rank);
    if (!group) return group.status();
    const Result<StateItem> room = body.describe(*group, tensor.name);
    if (!room) return room.status();
    if (room->dtype != tensor.dtype || room->count != tensor.count) {
      return {Code::InvalidArgument,
              fmt::format("{}: '{}/{}' has room for {} x {}, not for {} x {}", body.path.string(), *group, tensor.name,
                          room->count, to_string(room->dtype), tensor.count, to_string(tensor.dtype))};
    }
    const auto* data = static_cast<const std::byte*>(tensor.data);
    return put(*group + "/" + tensor.name, 0, {data, tensor.count * size_of(tensor.dtype)});
  }

  Status mark(std::int64_t step) {
    const auto& steps = file_.body_->steps;
    const GradientFile::Body::Step* found = file_.body_->find(step);
    if (found == nullptr) return file_.body_->group_of(step, 0).status();
    const std::byte complete{1};
    return put(recorded_name, static_cast<std::uint64_t>(found - steps.data()), {&complete, 1});
  }

  Status finish() { return ::fdatasync(to_.get()) == 0 ? Status::ok() : unwritable(); }

 private:
  explicit GradientRoom(GradientFile file) : file_(std::move(file)) {}

  Status unwritable() const {
    return {Code::Io, fmt::format("{} could not be written: {}", file_.body_->path.string(), std::strerror(errno))};
  }

  Status put(const std::string& object, std::uint64_t at, std::span<const std::byte> bytes) {
    const Result<hdf5::Dataset> dataset = file_.body_->dataset(object);
    if (!dataset) return dataset.status();
    const haddr_t begin = H5Dget_offset(dataset->get());
    if (begin == HADDR_UNDEF) return file_.body_->unexpected(object, "has no room of its own in the file");
    for (std::uint64_t place = begin + at; !bytes.empty();) {
      const ssize_t written = ::pwrite(to_.get(), bytes.data(), bytes.size(), static_cast<off_t>(place));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return unwritable();
      bytes = bytes.subspan(static_cast<std::size_t>(written));
      place += static_cast<std::uint64_t>(written);
    }
    return Status::ok();
  }

  GradientFile file_;
  runtime::Fd to_;
};

namespace {

using hdf5::failure;

constexpr std::uint64_t bytes_per_dataset = 1024;  // about what HDF5 adds to each

std::uint64_t bytes_of(const GradientLayout& layout) {
  std::uint64_t each = 0;
  for (const StateItem& tensor : layout.tensors) each += tensor.count * size_of(tensor.dtype) + bytes_per_dataset;
  return each * layout.steps.size() * static_cast<std::uint64_t>(layout.ranks);
}

/// Checks the space before, because HDF5 does not survive a full disk.
Status check_space(const std::filesystem::path& path, std::uint64_t bytes) {
  struct statvfs found {};
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (::statvfs(folder.c_str(), &found) != 0) return Status::ok();
  const std::uint64_t free = std::uint64_t{found.f_bavail} * found.f_frsize;
  if (bytes <= free) return Status::ok();
  return {Code::Io, fmt::format("{} would need {} of the disk, which has {} free: record fewer steps", path.string(),
                                count_of(bytes, "byte"), free)};
}

bool make_dataset(hid_t group, const std::string& name, const StateItem& like) {
  const hdf5::PropertyList creation(H5Pcreate(H5P_DATASET_CREATE));
  const hsize_t extent = like.count;
  const hdf5::Space space(H5Screate_simple(1, &extent, nullptr));
  if (H5Pset_obj_track_times(creation.get(), false) < 0 || H5Pset_layout(creation.get(), H5D_CONTIGUOUS) < 0 ||
      H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY) < 0 ||
      H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER) < 0) {
    return false;
  }
  const hdf5::Dataset dataset(H5Dcreate2(group, name.c_str(), hdf5::file_type(like.dtype), space.get(), H5P_DEFAULT,
                                         creation.get(), H5P_DEFAULT));
  return dataset && hdf5::write_attribute(dataset.get(), {"dtype", std::string(to_string(like.dtype))});
}

bool make_marks(hid_t file, std::size_t steps) {
  if (!make_dataset(file, recorded_name, {.name = {}, .dtype = Dtype::U8, .count = steps})) return false;
  const std::vector<std::uint8_t> none(steps);
  const hdf5::Dataset marks(H5Dopen2(file, recorded_name, H5P_DEFAULT));
  return marks && H5Dwrite(marks.get(), H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, none.data()) >= 0;
}

hdf5::File make_file(const std::string& path) {
  const hdf5::PropertyList creation(H5Pcreate(H5P_FILE_CREATE)), access(H5Pcreate(H5P_FILE_ACCESS));
  if (H5Pset_attr_creation_order(creation.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) < 0 ||
      H5Pset_obj_track_times(creation.get(), false) < 0 ||
      H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18) < 0) {
    return hdf5::File();
  }
  return hdf5::File(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
}

Attributes with_schema(const Attributes& attributes) {
  Attributes all = {{"schema", "lacuna-gradients"}, {"schema_version", std::int64_t{1}}};
  all.insert(all.end(), attributes.begin(), attributes.end());
  return all;
}

hdf5::Group make_group(hid_t owner, const std::string& name) {
  const hdf5::PropertyList creation(H5Pcreate(H5P_GROUP_CREATE));
  if (H5Pset_obj_track_times(creation.get(), false) < 0) return hdf5::Group();
  return hdf5::Group(H5Gcreate2(owner, name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
}

Status make_step(hid_t file, const std::filesystem::path& path, const GradientLayout& layout, std::int64_t step) {
  const hdf5::Group group = make_group(file, step_name(step));
  if (!group) return failure(path, fmt::format("make step {}", step));
  for (Rank rank = 0; rank < layout.ranks; ++rank) {
    const hdf5::Group mine = make_group(group.get(), rank_name(rank));
    for (const StateItem& tensor : layout.tensors) {
      if (!make_dataset(mine.get(), tensor.name, tensor)) return failure(path, fmt::format("make '{}'", tensor.name));
    }
  }
  return Status::ok();
}

Status lay_out(const std::string& where, const std::filesystem::path& path, const GradientLayout& layout) {
  const hdf5::Turn turn;
  const hdf5::File file = make_file(where);
  if (!file) return failure(path, "make the file");
  for (const Attribute& attribute : with_schema(layout.attributes)) {
    if (!hdf5::write_attribute(file.get(), attribute)) {
      return failure(path, fmt::format("write the attribute '{}'", attribute.name));
    }
  }
  if (!make_marks(file.get(), layout.steps.size())) return failure(path, fmt::format("make '{}'", recorded_name));
  if (!make_group(file.get(), steps_name)) return failure(path, fmt::format("make '{}'", steps_name));
  for (const std::int64_t step : layout.steps) {
    if (Status made = make_step(file.get(), path, layout, step); !made) return made;
  }
  return H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0 ? Status::ok() : failure(path, "write the file");
}

}  // namespace

Status make_gradient_file(const std::filesystem::path& path, const GradientLayout& layout) {
  for (const StateItem& tensor : layout.tensors) {
    if (Status possible = hdf5::check_name(path, tensor.name); !possible) return possible;
  }
  if (Status enough = check_space(path, bytes_of(layout)); !enough) return enough;
  const auto write = [&](std::FILE* file) {
    return lay_out(fmt::format("/proc/self/fd/{}", ::fileno(file)), path, layout);
  };
  return write_whole(path, write, {.mode = 0640, .durable = true});
}

Status check_gradient_file(const std::filesystem::path& path, const Attributes& attributes) {
  const hdf5::Turn turn;
  const Result<hdf5::Input> input = hdf5::Input::open(path);
  if (!input) return input.status();
  const Result<Attributes> found = input->attributes("/");
  if (!found) return found.status();
  const Attributes expected = with_schema(attributes);
  const auto differs = [&](const Attribute& one) {
    return std::find(found->begin(), found->end(), one) == found->end();
  };
  const auto different = std::find_if(expected.begin(), expected.end(), differs);
  if (different == expected.end()) return Status::ok();
  return {Code::InvalidArgument,
          fmt::format("{} holds something else: its '{}' differs", path.string(), different->name)};
}

Status write_gradients(const std::filesystem::path& path, std::int64_t step, Rank rank,
                       std::span<const StateItem> tensors) {
  const hdf5::Turn turn;
  Result<GradientRoom> room = GradientRoom::open(path);
  if (!room) return room.status();
  for (const StateItem& tensor : tensors) {
    if (Status written = room->write(step, rank, tensor); !written) return written;
  }
  return room->finish();
}

Status mark_recorded(const std::filesystem::path& path, std::int64_t step) {
  const hdf5::Turn turn;
  Result<GradientRoom> room = GradientRoom::open(path);
  if (!room) return room.status();
  const Status marked = room->mark(step);
  return marked ? room->finish() : marked;
}

}  // namespace lacuna::checkpoint
