#include "examples/workloads/fashion_mnist/idx.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "runtime/files/regular_file.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::workloads {
namespace {

constexpr std::size_t most_values = std::size_t{1} << 30;
constexpr std::uint8_t type_unsigned_byte = 8;

struct CloseGzip {
  void operator()(gzFile file) const { gzclose_r(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

Status damaged(const std::filesystem::path& path, std::string_view what) {
  return {Code::Io, fmt::format("{} is not a whole IDX file: {}", path.string(), what)};
}

Status read_exactly(gzFile file, const std::filesystem::path& path, std::span<std::uint8_t> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const auto wanted = static_cast<unsigned>(std::min<std::size_t>(to.size() - done, 1U << 24));
    const int got = gzread(file, to.data() + done, wanted);
    if (got < 0) {
      int code = 0;
      return damaged(path, gzerror(file, &code));
    }
    if (got == 0) return damaged(path, fmt::format("it ends {} too early", count_of(to.size() - done, "byte")));
    done += static_cast<std::size_t>(got);
  }
  return Status::ok();
}

Result<std::vector<std::size_t>> read_shape(gzFile file, const std::filesystem::path& path, std::size_t dimensions) {
  std::array<std::uint8_t, 4> magic{};
  if (Status read = read_exactly(file, path, magic); !read) return read;
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != type_unsigned_byte || magic[3] != dimensions) {
    return damaged(path, fmt::format("it begins with {:02x}{:02x}{:02x}{:02x}, expected 0000{:02x}{:02x}", magic[0],
                                     magic[1], magic[2], magic[3], type_unsigned_byte, dimensions));
  }
  std::vector<std::size_t> shape;
  std::size_t total = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::array<std::uint8_t, 4> bytes{};
    if (Status read = read_exactly(file, path, bytes); !read) return read;
    std::size_t extent = 0;
    for (std::uint8_t byte : bytes) extent = extent << 8 | byte;
    if (extent == 0 || extent > most_values / total) return damaged(path, "its header promises an impossible size");
    total *= extent;
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace

Result<IdxArray> read_idx(const std::filesystem::path& path, std::size_t dimensions) {
  const Result<runtime::Fd> regular = open_regular(path, Links::Followed);
  if (!regular) return regular.status();
  const int descriptor = ::dup(regular->get());  // zlib closes it
  const GzipFile file(descriptor < 0 ? nullptr : gzdopen(descriptor, "rb"));
  if (!file) {
    if (descriptor >= 0) ::close(descriptor);
    return Status(Code::Io, fmt::format("{} cannot be read: no memory or descriptors for it", path.string()));
  }
  Result<std::vector<std::size_t>> shape = read_shape(file.get(), path, dimensions);
  if (!shape) return shape.status();
  std::size_t total = 1;
  for (std::size_t extent : *shape) total *= extent;
  IdxArray array{.shape = std::move(*shape), .values = std::vector<std::uint8_t>(total)};
  if (Status read = read_exactly(file.get(), path, array.values); !read) return read;
  std::uint8_t more = 0;
  if (gzread(file.get(), &more, 1) != 0) return damaged(path, "it goes on after its last value, or its checksum fails");
  return array;
}

Result<LabelledImages> read_images(const std::filesystem::path& folder, const std::string& prefix,
                                   std::size_t class_count) {
  Result<IdxArray> images = read_idx(folder / (prefix + "-images-idx3-ubyte.gz"), 3);
  if (!images) return images.status();
  const std::filesystem::path label_path = folder / (prefix + "-labels-idx1-ubyte.gz");
  Result<IdxArray> labels = read_idx(label_path, 1);
  if (!labels) return labels.status();
  if (labels->shape[0] != images->shape[0]) {
    return Status(Code::Io, fmt::format("{} holds {} labels for {} images", label_path.string(), labels->shape[0],
                                        images->shape[0]));
  }
  if (const std::uint8_t highest = *std::max_element(labels->values.begin(), labels->values.end());
      highest >= class_count) {
    return Status(Code::Io, fmt::format("{} holds the label {}; the highest allowed is {}", label_path.string(),
                                        highest, class_count - 1));
  }
  return LabelledImages{.count = images->shape[0],
                        .pixels = images->shape[1] * images->shape[2],
                        .height = images->shape[1],
                        .width = images->shape[2],
                        .images = std::move(images->values),
                        .labels = std::move(labels->values)};
}

}  // namespace lacuna::workloads
