#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "bindings/cpp/state.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

/// Recorded gradients: what each rank hands to the allreduce of each tensor, step by step, in one HDF5 file. h5py and
/// the like can read it as well as lacuna:
///
///     /steps/<number>/rank-<r>/<tensor>
///                 a dataset of any shape: 32- or 64-bit floats (f32, f64), 16-bit floats (f16), or 16-bit unsigned
///                 integers whose attribute "dtype" is the text "bf16" or "f16"; all steps and ranks have the same
///                 tensors
///     /recorded   may be missing: a u8 for each step, by ascending number; a step whose byte is 0 is not complete
///                 and is passed over
///
/// A file that lacuna records has room for all numbers from the beginning. Each rank writes its own numbers where they
/// belong, and HDF5 writes nothing any more. So a killed rank or a full disk harms no other step.
///
/// Errors are Io and name the path, or InvalidArgument where the arguments and the file disagree. Any thread may call
/// the functions, but only one at a time for an object.
namespace lacuna::checkpoint {

/// A file of gradients, open for reading. Whatever it holds is checked before use. Links, data that lie in other files,
/// and lengths that the file can't have are errors.
class GradientFile {
 public:
  static Result<GradientFile> open(std::filesystem::path path);

  /// Returns the steps that are complete, in ascending order.
  std::vector<std::int64_t> steps() const;
  /// Returns how many ranks a step has. It is an error if they are not called rank-0, rank-1 and so on.
  Result<Rank> ranks(std::int64_t step) const;
  /// Describes what a rank has of a step by name, dtype and count, ordered by name, without data.
  Result<std::vector<StateItem>> tensors(std::int64_t step, Rank rank) const;
  /// Fills a tensor, which tensors() has described.
  Status read(std::int64_t step, Rank rank, const StateItem& tensor) const;

 private:
  friend class GradientRoom;
  struct Body;
  explicit GradientFile(std::shared_ptr<const Body> body) : body_(std::move(body)) {}

  std::shared_ptr<const Body> body_;
};

/// What a recording will hold.
struct GradientLayout {
  std::vector<std::int64_t> steps;  ///< not negative, ascending
  Rank ranks = 1;
  std::vector<StateItem> tensors;  ///< of each rank and step, in floating point; only their descriptions are used
  Attributes attributes;           ///< attributes of the file
};

/// Makes a file with room for the whole layout, in which no step is complete. Replaces a file of that name. Only one
/// rank calls it.
Status make_gradient_file(const std::filesystem::path& path, const GradientLayout& layout);
/// Returns Ok if make_gradient_file() has made the file with these attributes.
Status check_gradient_file(const std::filesystem::path& path, const Attributes& attributes);
/// Writes what a rank has of a step, and waits until it is on the disk. Other ranks may do so at the same time.
Status write_gradients(const std::filesystem::path& path, std::int64_t step, Rank rank,
                       std::span<const StateItem> tensors);
/// Says that a step is complete. Only one rank calls it, once all have written theirs.
Status mark_recorded(const std::filesystem::path& path, std::int64_t step);

}  // namespace lacuna::checkpoint
