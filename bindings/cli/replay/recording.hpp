#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "bindings/checkpoint/gradient_file.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "bindings/cpp/state.hpp"

namespace lacuna::cli {

/// The recorded gradients of one rank, one step at a time. All ranks make the same calls. An error on one rank is an
/// error on all.
class Recording {
 public:
  /// Checks that the file has as many ranks as the communicator, and that all steps and ranks have the same tensors.
  /// The communicator must outlive the recording.
  static Result<Recording> open(Communicator& communicator, const std::filesystem::path& path);

  const std::vector<std::int64_t>& steps() const { return steps_; }
  /// Returns the tensors, whose data are those of the step that was read last.
  const std::vector<StateItem>& tensors() const { return tensors_; }
  std::size_t elements() const;
  /// Reads a step, by its place in steps().
  Status read(std::size_t step);

 private:
  Recording(Communicator& communicator, checkpoint::GradientFile file)
      : communicator_(&communicator), file_(std::move(file)), steps_(file_.steps()) {}
  Status load(const std::filesystem::path& path);
  Status make_room();
  Status check_steps(const std::filesystem::path& path) const;
  Status compare() const;

  Communicator* communicator_;
  checkpoint::GradientFile file_;
  std::vector<std::int64_t> steps_;
  std::vector<StateItem> tensors_;
  std::vector<std::vector<std::byte>> data_;
};

}  // namespace lacuna::cli
