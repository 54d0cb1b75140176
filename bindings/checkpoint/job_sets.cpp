// Sets of all ranks of a communicator, which agree on each step.
#include <array>
#include <cstring>

#include "bindings/checkpoint/checkpoint.hpp"
#include "bindings/checkpoint/file_names.hpp"
#include "bindings/cpp/agree.hpp"

namespace lacuna::checkpoint {
namespace {

constexpr std::size_t digest_length = 64;
constexpr std::int64_t no_set = -1;

/// What rank 0 needs to know about a rank's file, in a form that travels.
struct PackedSum {
  std::uint64_t bytes = 0;
  std::array<char, digest_length> sha256{};
};

std::span<std::uint8_t> bytes_of(std::span<PackedSum> sums) {
  return {reinterpret_cast<std::uint8_t*>(sums.data()), sums.size_bytes()};
}

}  // namespace

Result<std::vector<FileSum>> gather_sums(Communicator& communicator, std::int64_t step, const FileSum& mine) {
  PackedSum packed{.bytes = mine.bytes};
  std::memcpy(packed.sha256.data(), mine.sha256.data(), std::min(mine.sha256.size(), digest_length));
  std::vector<PackedSum> all(static_cast<std::size_t>(communicator.size()));
  const std::span<const std::uint8_t> input = bytes_of(std::span(&packed, 1));
  if (Status gathered = communicator.call(allgather(input, bytes_of(all))); !gathered) return gathered;
  std::vector<FileSum> sums;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    sums.push_back({.name = rank_file_name(step, static_cast<Rank>(rank)),
                    .bytes = all[rank].bytes,
                    .sha256 = {all[rank].sha256.data(), digest_length}});
  }
  return sums;
}

Status save(Communicator& communicator, const std::filesystem::path& directory, std::int64_t step,
            std::span<const StateItem> items, const Attributes& attributes) {
  const Result<FileSum> mine =
      write_rank_file({directory, step, communicator.rank(), communicator.size()}, items, attributes);
  if (Status written = agree(communicator, mine.status()); !written) return written;
  Result<std::vector<FileSum>> sums = gather_sums(communicator, step, *mine);
  if (!sums) return sums.status();
  Status complete;
  if (communicator.rank() == 0) {
    complete = write_manifest(directory, {.step = step, .files = *std::move(sums)});
    if (complete) complete = prune(directory, step);
  }
  return agree(communicator, complete);
}

Result<std::optional<Restored>> restore(Communicator& communicator, const std::filesystem::path& directory,
                                        std::span<const StateItem> items) {
  Restored restored{.step = no_set};
  Status found;
  if (communicator.rank() == 0) {
    Result<SetSearch> search = newest_set(directory, communicator.size());
    found = search.status();
    if (search && search->set) restored.step = search->set->step;
    if (search) restored.passed_over = std::move(search->passed_over);
  }
  if (Status agreed = agree(communicator, found); !agreed) return agreed;
  if (Status told = communicator.call(broadcast(std::span(&restored.step, 1))); !told) return told;
  if (restored.step == no_set) return std::optional<Restored>();
  Result<Attributes> read = read_rank_file({directory, restored.step, communicator.rank(), communicator.size()}, items);
  if (Status agreed = agree(communicator, read.status()); !agreed) return agreed;
  restored.attributes = *std::move(read);
  return std::optional(std::move(restored));
}

}  // namespace lacuna::checkpoint
