#include "tests/support/collective_case.hpp"

namespace lacuna::test {
namespace {

/// Adds up what one rank sends to one peer or to several.
class Sum {
 public:
  explicit Sum(std::size_t message_bytes) : message_bytes_(message_bytes) {}

  /// `first`: the pair's first message of the call, which is sent even when it is empty.
  void add(std::size_t bytes, bool first) {
    sum_.payload += bytes;
    sum_.messages += bytes > 0 ? (bytes - 1) / message_bytes_ + 1 : (first ? 1 : 0);
  }
  Traffic value() const { return sum_; }

 private:
  std::size_t message_bytes_;
  Traffic sum_;
};

/// Position i of a ring sends piece c on the way to its owner c if the piece has started before or at i, S + 1 or more
/// positions after c; on the way from its owner unless the next position is that owner.
void add_ring_part(const Case& what, Rank position, std::size_t length, bool first_part, Sum& sum) {
  const auto p = static_cast<std::size_t>(what.size);
  const auto piece_bytes = [&](Rank piece) {
    const auto c = static_cast<std::size_t>((piece % what.size + what.size) % what.size);
    return (exact_boundary(c + 1, length, p) - exact_boundary(c, length, p)) * size_of(what.dtype);
  };
  bool first = first_part;
  for (Rank behind = what.skip + 1; behind < what.size; ++behind) {
    sum.add(piece_bytes(position - behind), std::exchange(first, false));
  }
  for (Rank behind = 0; behind < what.size - 1; ++behind) {
    sum.add(piece_bytes(position - behind), std::exchange(first, false));
  }
}

int log2_floor(Rank p) { return p < 2 ? 0 : 1 + log2_floor(p / 2); }
int log2_ceil(Rank p) { return p < 2 ? 0 : 1 + log2_ceil((p + 1) / 2); }

/// How often a rank sends a whole part (a block where there are blocks), each time as a pair's first message.
std::optional<int> whole_sends(const Case& what, Rank rank) {
  const auto name = what.algorithm->name;
  switch (what.algorithm->collective) {
    case Collective::Allreduce: {
      if (name != "recursive_doubling") return std::nullopt;
      const int rounds = log2_floor(what.size);
      const Rank core = 1 << rounds;
      return rank >= core ? 1 : rounds + (rank + core < what.size ? 1 : 0);
    }
    case Collective::Broadcast: {
      if (name != "tree") return std::nullopt;
      const Rank position = (rank - what.root + what.size) % what.size;
      int children = 0;
      for (Rank other = 1; other < what.size; ++other) children += (other & (other - 1)) == position;
      return children;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Traffic> expected_traffic(const Case& what, Rank rank, std::size_t chunk_bytes,
                                        std::size_t message_bytes) {
  const Collective collective = what.algorithm->collective;
  const auto name = what.algorithm->name;
  if (collective == Collective::Barrier) {
    if (name != "dissemination") return std::nullopt;
    return Traffic{0, static_cast<std::uint64_t>(log2_ceil(what.size))};
  }
  const std::size_t parts = expected_parts(collective, what.bytes(), what.size, chunk_bytes);
  const bool blocks = collective == Collective::ReduceScatter || collective == Collective::Allgather;
  Sum sum(message_bytes);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t length = exact_boundary(part + 1, what.count, parts) - exact_boundary(part, what.count, parts);
    const std::size_t bytes = length * size_of(what.dtype);
    if (collective == Collective::Allreduce && (name == "ring" || name == "skip_ring")) {
      const Rank turn = ring_turn(what, static_cast<std::uint32_t>(part));
      add_ring_part(what, rank - turn + what.size, length, part == 0, sum);
    } else if (blocks && name == "ring") {
      for (Rank s = 0; s < what.size - 1; ++s) sum.add(bytes, part == 0 && s == 0);
    } else if (const auto sends = whole_sends(what, rank)) {
      for (int i = 0; i < *sends; ++i) sum.add(bytes, part == 0);
    } else {
      return std::nullopt;
    }
  }
  return sum.value();
}

}  // namespace lacuna::test
