#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/skip/skip.hpp"
#include "runtime/graph/algorithm.hpp"
#include "tests/support/oracle.hpp"

namespace lacuna::test {

/// Where the input lies. Mixed means in place on every other rank.
enum class Placement : std::uint8_t { OutOfPlace, InPlace, Mixed };

/// How blocks differ in length: in all ways; one rank has all elements; every second rank has none. There are free
/// elements before and between the blocks, except in the packed layout.
enum class Shape : std::uint8_t { Packed, Spread, OneRank, EverySecond };
inline constexpr std::size_t shapes = 4;

/// One call to test. It is the same on all ranks, except for the buffers.
struct Case {
  const Algorithm* algorithm = nullptr;
  Rank size = 1;
  std::size_t count = 0;
  Dtype dtype = Dtype::F32;
  Reduction reduction = Reduction::Sum;
  Placement placement = Placement::OutOfPlace;
  std::size_t misalignment = 0;  ///< by how many bytes both buffers are misaligned
  int skip = 0;
  SkipMode mode = SkipMode::Static;
  Rank root = 0;
  Sampler sampler = {};
  std::vector<Rank> hosts = {};  ///< the host of each rank; empty: all on one
  Shape shape = Shape::Packed;
  bool told = false;  ///< receivers of blocks leave their lengths to the senders

  bool in_place(Rank rank) const {
    return placement == Placement::InPlace || (placement == Placement::Mixed && rank % 2 == 1);
  }
  std::size_t bytes() const { return count * size_of(dtype); }
  bool has_tables() const { return lacuna::has_tables(algorithm->collective); }
  /// The number of elements that `from` has for `to`. If only one rank has blocks, it is the length of the block of
  /// `from`.
  std::size_t block(Rank from, Rank to) const;
};

std::string to_string(const Case& what);

/// How many elements an Oracle must have for cases of at most `count` elements.
std::size_t oracle_elements(std::size_t count, Rank size);

/// What the case leaves out.
MethodOptions method_of(const Case& what);

/// Does the library offer this case? If not, it must refuse the call.
bool is_offered(const Case& what);

/// Ways to put so many ranks on several hosts: evenly and not, side by side and interleaved.
std::vector<std::vector<Rank>> host_layouts(Rank size);

/// The nearest case that is offered. Whatever means nothing to the algorithm, or is refused, is changed.
Case offered(Case what);

/// The buffers of one rank, between guard bytes. They are used again for each case.
class RankBuffers {
 public:
  /// Fills the buffers and returns the call. `sampler` belongs to the caller, and begins as the sampler of the case.
  Call prepare(const Case& what, Rank rank, const Oracle& oracle, Sampler& sampler);
  /// Says what is wrong after the call of the last prepare(): the result, a guard or a changed input. Empty if nothing
  /// is.
  std::string check(const Case& what, Rank rank, const Oracle& oracle, std::size_t chunk_bytes);

 private:
  struct Guarded {
    std::vector<std::byte> memory;
    std::byte* data = nullptr;
    std::size_t bytes = 0;

    std::byte* prepare(std::size_t length, std::size_t misalignment);
    bool guards_hold() const;
  };

  /// In elements, by rank. The tables of the call point here, if it has tables.
  struct Table {
    std::vector<std::size_t> counts, offsets, received;
  };
  Table table_of(const Case& what, Rank rank, bool input) const;
  void give_tables(const Case& what, Rank rank);
  void write_expected(const Case& what, Rank rank, const Oracle& oracle, std::size_t chunk_bytes);
  std::size_t input_bytes() const { return input_length(call_, size_) * size_of(call_.dtype); }
  std::size_t output_bytes() const { return output_length(call_, size_) * size_of(call_.dtype); }

  Call call_;
  Rank size_ = 1;
  Table in_, out_;
  Guarded input_, output_;
  std::vector<std::byte> expected_;
};

/// What one rank sends for one call.
struct Traffic {
  std::uint64_t payload = 0;
  std::uint64_t messages = 0;
};

/// Computes what a rank sends, by formulas that know the definition of the algorithm and not its code. Messages carry
/// at most `message_bytes`. Nothing, if there is no formula for the algorithm.
std::optional<Traffic> expected_traffic(const Case& what, Rank rank, std::size_t chunk_bytes,
                                        std::size_t message_bytes);

}  // namespace lacuna::test
