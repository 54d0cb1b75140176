#include "bindings/cli/run/gradient_recorder.hpp"

#include <fmt/format.h>

#include <cstring>
#include <system_error>
#include <utility>

#include "bindings/checkpoint/gradient_file.hpp"
#include "bindings/cpp/agree.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

Attributes identity_of(const RecordOptions& options, const GradientRecorder::Run& run) {
  return {{"record_every", static_cast<std::int64_t>(options.every)},
          {"planned_steps", static_cast<std::int64_t>(run.steps)},
          {"values", run.values}};
}

Status prepare_file(const RecordOptions& options, const GradientRecorder::Run& run, bool fresh) {
  std::error_code error;
  if (!std::filesystem::exists(options.file, error)) return check_writable(options.file);
  if (Status ours = checkpoint::check_gradient_file(options.file, identity_of(options, run)); !ours) {
    return {ours.code(),
            fmt::format("--record {}: what is there is not replaced: {}", options.file.string(), ours.message())};
  }
  if (fresh) std::filesystem::remove(options.file, error);
  return error ? Status(Code::Io, fmt::format("{}: {}", options.file.string(), error.message())) : Status::ok();
}

}  // namespace

GradientRecorder::GradientRecorder(Communicator& communicator, RecordOptions options, Run run)
    : communicator_(communicator), options_(std::move(options)), run_(std::move(run)) {}

Status GradientRecorder::prepare(bool fresh) {
  return agree(communicator_, communicator_.rank() == 0 ? prepare_file(options_, run_, fresh) : Status::ok());
}

std::uint64_t GradientRecorder::next_stop(std::uint64_t step) const {
  return (step + options_.every - 1) / options_.every * options_.every + 1;
}

GradientTap GradientRecorder::tap() {
  return [this](const StateItem& gradient, Rank ranks) { take(gradient, ranks); };
}

void GradientRecorder::begin(std::uint64_t step) {
  recording_ = wants(step);
  taken_ = 0;
}

void GradientRecorder::take(const StateItem& gradient, Rank ranks) {
  if (!recording_) return;
  if (ranks != communicator_.size() && refused_) {
    refused_ = Status(Code::Unsupported,
                      fmt::format("--record: '{}' is reduced by groups of {} of {}; only gradients that all ranks "
                                  "reduce together can be recorded",
                                  gradient.name, ranks, count_of(communicator_.size(), "rank")));
  }
  if (taken_ == tensors_.size()) tensors_.emplace_back();
  Tensor& tensor = tensors_[taken_++];
  tensor.name = gradient.name;
  tensor.dtype = gradient.dtype;
  tensor.count = gradient.count;
  tensor.bytes.resize(gradient.count * size_of(gradient.dtype));
  if (gradient.count > 0) std::memcpy(tensor.bytes.data(), gradient.data, tensor.bytes.size());
}

std::vector<StateItem> GradientRecorder::items() {
  std::vector<StateItem> items;
  for (Tensor& tensor : tensors_) items.push_back({tensor.name, tensor.dtype, tensor.bytes.data(), tensor.count});
  return items;
}

/// Checks that all ranks have the same tensors.
Status GradientRecorder::check_tensors() {
  std::string mine;
  for (const Tensor& tensor : tensors_) {
    mine += fmt::format("{} of {} x {}, ", tensor.name, tensor.count, to_string(tensor.dtype));
  }
  std::string theirs = mine;
  if (Status shared = share_text(communicator_, theirs); !shared) return shared;
  Status same = refused_;
  if (same && mine != theirs) {
    same = Status(Code::Unsupported, fmt::format("--record: the gradients here are {}and those of rank 0 are {}all "
                                                 "ranks must have the same",
                                                 mine, theirs));
  }
  return agree(communicator_, same);
}

Status GradientRecorder::make_file() {
  if (std::filesystem::exists(options_.file)) {
    return checkpoint::check_gradient_file(options_.file, identity_of(options_, run_));
  }
  checkpoint::GradientLayout layout{
      .steps = {}, .ranks = communicator_.size(), .tensors = items(), .attributes = identity_of(options_, run_)};
  for (std::uint64_t step = 0; step < run_.steps; step += options_.every) {
    layout.steps.push_back(static_cast<std::int64_t>(step));
  }
  return checkpoint::make_gradient_file(options_.file, layout);
}

Status GradientRecorder::finish(std::uint64_t step) {
  if (!std::exchange(recording_, false)) return Status::ok();
  tensors_.resize(taken_);
  if (Status same = check_tensors(); !same) return same;
  const bool first = communicator_.rank() == 0;
  if (!has_file_) {
    if (Status made = agree(communicator_, first ? make_file() : Status::ok()); !made) return made;
    has_file_ = true;
  }
  const auto number = static_cast<std::int64_t>(step);
  const Status written = checkpoint::write_gradients(options_.file, number, communicator_.rank(), items());
  if (Status agreed = agree(communicator_, written); !agreed) return agreed;
  return agree(communicator_, first ? checkpoint::mark_recorded(options_.file, number) : Status::ok());
}

}  // namespace lacuna::cli
