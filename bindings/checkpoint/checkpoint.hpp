#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/cpp/state.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

/// Checkpoint sets: per step one HDF5 file for each rank and one manifest that makes them a set, all in one directory
/// that every rank sees.
///
///     ckpt-<step>-rank<r>.h5   /            attributes schema = "lacuna-checkpoint", schema_version, step, rank, size
///                              /state       one dataset per item; its attribute "dtype" names the element type
///                                           (bf16 and f16 are stored as 16-bit unsigned integers)
///                              /attributes  the caller's numbers and texts, as attributes
///     manifest-<step>.json     step, size, name, length and SHA-256 of each file, the config's text and digest
///
/// To write a set: every rank calls write_rank_file(); once all have, rank 0 gathers the sums and calls
/// write_manifest(), then prune(). A set without a manifest does not exist. To continue: rank 0 calls newest_set() and
/// tells the others the step; every rank calls read_rank_file().
///
/// Every file appears under its name only when it is complete and on the disk, and is for its owner and group at most
/// (0640 under the umask). What is read is checked before use; links, pipes and devices are not read. The directory is
/// the caller's to make; where it is gone, writing is an error.
/// The functions may be called from any thread, one at a time per directory and rank. Where HDF5 was built without
/// thread safety they wait for each other; a program that calls such an HDF5 itself must not do so meanwhile. Errors
/// are Status values of code Io, or InvalidArgument where the arguments and the file disagree; they name the path.
namespace lacuna::checkpoint {

/// Which rank's file of which set. 0 <= step, 0 <= rank < size.
struct RankFile {
  std::filesystem::path directory;
  std::int64_t step = 0;
  Rank rank = 0;
  Rank size = 1;
};

/// A written file as the manifest will name it.
struct FileSum {
  std::string name;  ///< without directories; it follows from step and rank
  std::uint64_t bytes = 0;
  std::string sha256;  ///< of the whole file: 64 hexadecimal digits

  bool operator==(const FileSum&) const = default;
};

/// What makes rank files a set.
struct Manifest {
  std::int64_t step = 0;
  std::vector<FileSum> files;  ///< one per rank, by rank; so the job had files.size() ranks
  std::string config_text;     ///< UTF-8
  std::string config_digest;
};

/// The outcome of looking for a set to continue from.
struct SetSearch {
  std::optional<Manifest> set;           ///< the newest that verifies entirely
  std::vector<std::string> passed_over;  ///< why newer ones were passed over, newest first
};

/// Writes one rank's items and attributes, replacing a file of that name. Needs memory for one copy of the items for as
/// long as it runs. Equal contents make equal files. After an error no unfinished file remains.
Result<FileSum> write_rank_file(const RankFile& file, std::span<const StateItem> items, const Attributes& attributes);

/// Fills the items in place and returns the attributes, in the order in which they were written. The names, dtypes and
/// counts of the items must be those in the file, in any order; otherwise the error names both sides and nothing has
/// been filled. (After a read error, items may have been filled in part.)
Result<Attributes> read_rank_file(const RankFile& file, std::span<const StateItem> items);

/// Makes a set of files that all exist already. Rank 0 only.
Status write_manifest(const std::filesystem::path& directory, const Manifest& manifest);

/// The newest set of which every file exists and has the length and checksum of the manifest and opens; damaged ones
/// are passed over with a reason. A newest set of a job of another size is InvalidArgument. Io where something else
/// than a regular file (a link, a folder, a pipe ...) has the name of a manifest or rank file. No directory: no set.
/// Reads every byte of the set.
Result<SetSearch> newest_set(const std::filesystem::path& directory, Rank size);

/// To be called by rank 0 once the set of `newest` has its manifest. Of the sets up to `newest` it keeps the last
/// `keep`, and removes older ones (the manifest first), files that belong to no set, and temporary files. A manifest of
/// a later step goes too: it was passed over, or this run would not be here. Rank files of later steps stay, as ranks
/// may be writing them. Other files in the directory are never touched.
Status prune(const std::filesystem::path& directory, std::int64_t newest, std::size_t keep = 2);

/// Removes all sets and their left-overs, to start anew. No rank may be writing. Io, and nothing is removed, where
/// something else than a regular file has the name of a manifest or rank file.
Status remove_sets(const std::filesystem::path& directory);

/// The version of the HDF5 library that is loaded, such as "1.10.8".
std::string hdf5_version();

/// SHA-256 of a text as 64 hexadecimal digits, for a config's digest.
Result<std::string> digest_of(std::string_view text);

}  // namespace lacuna::checkpoint
