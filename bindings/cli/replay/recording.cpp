#include "bindings/cli/replay/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>

#include "bindings/cpp/agree.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

std::string to_text(const std::vector<StateItem>& tensors) {
  std::string text;
  for (const StateItem& tensor : tensors) {
    text +=
        fmt::format("{}'{}' ({} x {})", text.empty() ? "" : ", ", tensor.name, tensor.count, to_string(tensor.dtype));
  }
  return text.empty() ? "no tensors" : text;
}

bool alike(const StateItem& a, const StateItem& b) {
  return a.name == b.name && a.dtype == b.dtype && a.count == b.count;
}

}  // namespace

Result<Recording> Recording::open(Communicator& communicator, const std::filesystem::path& path) {
  Result<checkpoint::GradientFile> file = checkpoint::GradientFile::open(path);
  if (Status agreed = agree(communicator, file.status()); !agreed) return agreed;
  Recording recording(communicator, *std::move(file));
  if (Status agreed = agree(communicator, recording.load(path)); !agreed) return agreed;
  if (Status equal = recording.compare(); !equal) return equal;
  return recording;
}

Status Recording::load(const std::filesystem::path& path) {
  if (steps_.empty()) return {Code::Io, fmt::format("{}: it holds no complete step", path.string())};
  const Result<Rank> ranks = file_.ranks(steps_.front());
  if (!ranks) return ranks.status();
  if (*ranks != communicator_->size()) {
    return {Code::InvalidArgument,
            fmt::format("{0} was recorded by {3} and this job has {2}: lacuna launch -n {1} -- lacuna replay {0}",
                        path.string(), *ranks, communicator_->size(), count_of(*ranks, "rank"))};
  }
  Result<std::vector<StateItem>> tensors = file_.tensors(steps_.front(), communicator_->rank());
  if (!tensors) return tensors.status();
  tensors_ = *std::move(tensors);
  if (Status same = check_steps(path); !same) return same;
  return make_room();
}

/// Checks that all steps have the same ranks and tensors as the first one.
Status Recording::check_steps(const std::filesystem::path& path) const {
  for (const std::int64_t step : steps_) {
    const Result<Rank> ranks = file_.ranks(step);
    if (!ranks) return ranks.status();
    const Result<std::vector<StateItem>> tensors = file_.tensors(step, communicator_->rank());
    if (!tensors) return tensors.status();
    const bool same = *ranks == communicator_->size() &&
                      std::equal(tensors->begin(), tensors->end(), tensors_.begin(), tensors_.end(), alike);
    if (same) continue;
    return {Code::Io, fmt::format("{}: step {} has {} with {}, and step {} has {} with {}; all must have the same",
                                  path.string(), step, count_of(*ranks, "rank"), to_text(*tensors), steps_.front(),
                                  communicator_->size(), to_text(tensors_))};
  }
  return Status::ok();
}

Status Recording::make_room() {
  try {
    for (StateItem& tensor : tensors_) {
      data_.emplace_back(tensor.count * size_of(tensor.dtype));
      tensor.data = data_.back().data();
    }
  } catch (const std::bad_alloc&) {
    return {Code::InvalidArgument,
            fmt::format("tensors of {} do not fit into memory", count_of(elements(), "element"))};
  }
  return Status::ok();
}

/// Compares what the ranks have opened, because it may be several files.
Status Recording::compare() const {
  const std::string mine = fmt::format("steps {}: {}", fmt::join(steps_, ", "), to_text(tensors_));
  std::string first = mine;
  if (Status shared = share_text(*communicator_, first); !shared) return shared;
  if (mine == first) return agree(*communicator_, Status::ok());
  return agree(*communicator_,
               {Code::Io, fmt::format("all ranks must have recorded the same; here it is\n  {}\nand on rank 0\n  {}",
                                      mine, first)});
}

std::size_t Recording::elements() const {
  std::size_t count = 0;
  for (const StateItem& tensor : tensors_) count += tensor.count;
  return count;
}

Status Recording::read(std::size_t step) {
  Status read;
  for (const StateItem& tensor : tensors_) {
    if (read) read = file_.read(steps_[step], communicator_->rank(), tensor);
  }
  return agree(*communicator_, read);
}

}  // namespace lacuna::cli
