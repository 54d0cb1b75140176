#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "bindings/cpp/state.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

/// Recorded gradients: what each rank handed to the allreduce of each tensor, step by step, in one HDF5 file, for h5py
/// and the like as much as for lacuna:
///
///     /steps/<number>/rank-<r>/<tensor>   a dataset of any shape: 32- or 64-bit floats (f32, f64), 16-bit floats
///     (f16),
///                                         or 16-bit unsigned integers whose attribute "dtype" is the text "bf16" or
///                                         "f16"; all steps and ranks have the same tensors
///     /recorded                           may be missing: a u8 for each step, by ascending number; a step whose byte
///     is
///                                         0 is not complete, and passed over
///
/// What lacuna records has its room in the file from the beginning, so that each rank writes its own numbers where they
/// belong and HDF5 writes nothing any more: a rank that is killed, or a disk that is full, harms no other step.
///
/// Errors are Io and name the path, or InvalidArgument where the arguments and the file disagree. The functions may be
/// called from any thread, one at a time per object.
namespace lacuna::checkpoint {

/// A file of gradients, open for reading. Whatever it holds, it is checked before use: links, data that lie in other
/// files and lengths that the file can't have are errors.
class GradientFile {
 public:
  static Result<GradientFile> open(std::filesystem::path path);

  /// Those that are complete, ascending.
  std::vector<std::int64_t> steps() const;
  /// How many ranks a step has; an error unless they are rank-0, rank-1 and so on.
  Result<Rank> ranks(std::int64_t step) const;
  /// Name, dtype and count of what a rank has of a step, by name; no data.
  Result<std::vector<StateItem>> tensors(std::int64_t step, Rank rank) const;
  /// Fills a tensor, which is as described.
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
  std::vector<StateItem> tensors;  ///< of each rank and step, floating point; data are not looked at
  Attributes attributes;           ///< of the file
};

/// Makes a file with room for all of it, in which no step is complete; replaces one of that name. For one rank.
Status make_gradient_file(const std::filesystem::path& path, const GradientLayout& layout);
/// Ok if make_gradient_file() has made the file with these attributes.
Status check_gradient_file(const std::filesystem::path& path, const Attributes& attributes);
/// Writes what a rank has of a step; other ranks may do so at the same time. It is on the disk afterwards.
Status write_gradients(const std::filesystem::path& path, std::int64_t step, Rank rank,
                       std::span<const StateItem> tensors);
/// Says that a step is complete. For one rank, once all have written theirs.
Status mark_recorded(const std::filesystem::path& path, std::int64_t step);

}  // namespace lacuna::checkpoint
