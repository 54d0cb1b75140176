#include "examples/workloads/fashion_mnist/data.hpp"

#include <fmt/format.h>

#include <utility>

namespace lacuna::workloads {

Result<FashionMnistData> read_fashion_mnist(const std::filesystem::path& folder, std::size_t images) {
  const auto missing = [](const Status& why) {
    return Status(Code::Io, fmt::format("{}; the files come with the Debian package dataset-fashion-mnist (apt install "
                                        "dataset-fashion-mnist), or set workload.path to a folder that has them",
                                        why.message()));
  };
  Result<LabelledImages> training = read_images(folder, "train", classes);
  if (!training) return missing(training.status());
  Result<LabelledImages> test = read_images(folder, "t10k", classes);
  if (!test) return missing(test.status());
  if (training->height != test->height || training->width != test->width) {
    return missing(
        Status(Code::Io, fmt::format("{}: the training images have {} x {} pixels, the test images {} x {}",
                                     folder.string(), training->height, training->width, test->height, test->width)));
  }
  if (images > training->count) {
    return Status(Code::InvalidArgument, fmt::format("images = {}, but there are {} training images in {}", images,
                                                     training->count, folder.string()));
  }
  if (images > 0) training->count = images;
  return FashionMnistData{*std::move(training), *std::move(test)};
}

}  // namespace lacuna::workloads
