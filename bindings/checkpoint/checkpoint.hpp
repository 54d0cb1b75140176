#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "bindings/cpp/state.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

/// Checkpoint sets. Each step has one HDF5 file for each rank and one manifest that makes them a set. All of them lie
/// in one directory that every rank sees.
///
///     ckpt-<step>-rank<r>.h5   /            attributes schema = "lacuna-checkpoint", schema_version, step, rank, size
///                              /state       one dataset per item; its attribute "dtype" names the element type
///                                           (bf16 and f16 are stored as 16-bit unsigned integers)
///                              /attributes  the caller's numbers and texts, as attributes
///     manifest-<step>.json     step, size, name, length and SHA-256 of each file, the config's text and digest
///
/// save() and restore() do all of this for the ranks of a communicator. What they consist of is there too: to write a
/// set, every rank calls write_rank_file(). Once all have done so, rank 0 gathers the sums and calls write_manifest(),
/// then prune(). A set without a manifest does not exist. To continue, rank 0 calls newest_set() and tells the others
/// the step; then every rank calls read_rank_file().
///
/// A file appears under its name only when it is complete and on the disk. Its owner and its group may read it (0640
/// under the umask). What is read is checked before use; links, pipes and devices are not read. The caller makes the
/// directory. If it is gone, writing is an error.
/// Any thread may call these functions, but only one at a time for a directory and rank. Where HDF5 was built without
/// thread safety, they wait for each other; a program that calls such an HDF5 itself must not do so meanwhile. Errors
/// are Status values of code Io, or InvalidArgument where the arguments and the file disagree. They name the path.
namespace lacuna::checkpoint {

/// Says which rank's file of which set is meant. 0 <= step, 0 <= rank < size.
struct RankFile {
  std::filesystem::path directory;
  std::int64_t step = 0;
  Rank rank = 0;
  Rank size = 1;
};

/// A written file, as the manifest will name it.
struct FileSum {
  std::string name;  ///< without directories; it follows from step and rank
  std::uint64_t bytes = 0;
  std::string sha256;  ///< of the whole file: 64 hexadecimal digits

  bool operator==(const FileSum&) const = default;
};

/// What makes rank files a set.
struct Manifest {
  std::int64_t step = 0;
  std::vector<FileSum> files;  ///< one for each rank, by rank, so that the job had files.size() ranks
  std::string config_text{};   ///< UTF-8
  std::string config_digest{};
};

/// The outcome of looking for a set to continue from.
struct SetSearch {
  std::optional<Manifest> set;           ///< the newest one that is undamaged
  std::vector<std::string> passed_over;  ///< for each newer one, why it was passed over; newest first
};

/// Writes one rank's items and attributes, and replaces a file of that name. While it runs it needs memory for one copy
/// of the items. Equal contents make equal files. After an error no unfinished file remains.
Result<FileSum> write_rank_file(const RankFile& file, std::span<const StateItem> items, const Attributes& attributes);

/// Fills the items in place and returns the attributes, in the order in which they were written. The items must have
/// the names, dtypes and counts of those in the file, in any order. If they do not, the error names both sides, and no
/// item has been filled. (After a read error, items may have been filled in part.)
Result<Attributes> read_rank_file(const RankFile& file, std::span<const StateItem> items);

/// Returns the attributes of a rank's file alone, in the order in which they were written.
Result<Attributes> read_rank_attributes(const RankFile& file);

/// Makes a set of files that all exist already. Only rank 0 calls it.
Status write_manifest(const std::filesystem::path& directory, const Manifest& manifest);

/// Finds the newest set whose files all exist, open, and have the lengths and checksums of the manifest. It reads every
/// byte of the set. It passes over damaged sets, with a reason. If the newest undamaged manifest is of a job of another
/// size, the error is InvalidArgument. If something else than a regular file (a link, a folder, a pipe ...) has the
/// name of a manifest or rank file, it is Io. Without the directory there is no set.
Result<SetSearch> newest_set(const std::filesystem::path& directory, Rank size);

/// Rank 0 calls it once the set of `newest` has its manifest. Of the sets up to `newest` it keeps the last `keep`. It
/// removes older sets (the manifest first), files that belong to no set, and temporary files. It also removes the
/// manifests of later steps, because they were passed over: otherwise the run would have continued from them. Rank
/// files of later steps stay, because ranks may be writing them. Other files in the directory stay as they are.
Status prune(const std::filesystem::path& directory, std::int64_t newest, std::size_t keep = 2);

/// Removes all sets and their left-overs, so that a run starts anew. No rank may be writing. If something else than a
/// regular file has the name of a manifest or rank file, the error is Io, and nothing is removed.
Status remove_sets(const std::filesystem::path& directory);

/// What a job continues from.
struct Restored {
  std::int64_t step = 0;
  Attributes attributes{};                 ///< of this rank
  std::vector<std::string> passed_over{};  ///< on rank 0: for each newer set, why it was passed over; newest first
};

/// Writes a set of the items and attributes of all ranks, and removes the sets before the last two. All ranks call it,
/// and all get the same outcome: an error of one rank names it.
Status save(Communicator& communicator, const std::filesystem::path& directory, std::int64_t step,
            std::span<const StateItem> items, const Attributes& attributes = {});
/// Fills the items of all ranks from the newest set that is undamaged. Returns nothing if there is no set; then the
/// items are as they were. All ranks call it, as many as have written the set, and all get the same outcome.
Result<std::optional<Restored>> restore(Communicator& communicator, const std::filesystem::path& directory,
                                        std::span<const StateItem> items);
/// Returns the sums of the files of all ranks of a set, by rank. All ranks call it.
Result<std::vector<FileSum>> gather_sums(Communicator& communicator, std::int64_t step, const FileSum& mine);

/// Returns the version of the HDF5 library that is loaded, such as "1.10.8".
std::string hdf5_version();

/// Returns the SHA-256 of a text as 64 hexadecimal digits, for the digest of a config.
Result<std::string> digest_of(std::string_view text);

}  // namespace lacuna::checkpoint
