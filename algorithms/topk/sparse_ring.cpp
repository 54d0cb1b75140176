#include "algorithms/topk/capped.hpp"
#include "algorithms/topk/selecting.hpp"

namespace lacuna {
namespace {

using sparse::Range;

/// Returns how many entries a message of this piece may hold. If sums are capped, a piece is a range, and may hold a
/// P-th of the entries that a rank is asked for.
std::size_t cap_of(const PartView& part, const Range& piece) {
  if (!sparse::form_of(part).capped) return piece.length();
  const auto ranks = static_cast<std::size_t>(part.size);
  return (sparse::arguments_of(part).wanted + ranks - 1) / ranks;
}

/// Subtracts what was dropped from what was contributed, because it does not reach the result.
void count_dropped(const KernelCall& call, double left_before) {
  call.measures.tell(sparse::measure::contributed, left_before - call.measures.value(sparse::measure::left));
}

/// One of `of` pieces of the places.
struct Piece {
  Rank number, of;

  Range in(const PartView& part) const { return sparse::piece_range(part, number, of); }
};

struct PackPiece {
  static constexpr std::string_view name = "pack";
  sparse::ReadList mine;
  CapRooms cap;
  sparse::WriteMessage message;
  Piece piece;

  Status operator()(const KernelCall& call) const {
    const Stopwatch watch(call, sparse::measure::pack_time);
    const Range range = piece.in(call.part);
    const double left = call.measures.value(sparse::measure::left);
    const auto own = lacuna::cap(call, cap, mine.list().in(call, range), cap_of(call.part, range));
    sparse::write_message(call, own, range, message);
    count_dropped(call, left);
    return {};
  }
};

/// Adds the own entries of a piece to a message.
struct AddOwn {
  static constexpr std::string_view name = "add own";
  sparse::ReadList mine;
  Read arrived;
  CappedSum sum;
  Piece piece;
  Rank from;
  bool is_last;  ///< the sum is the result, and is scaled

  Status operator()(const KernelCall& call) const {
    const Range range = piece.in(call.part);
    sparse::Views views = sparse::Views::of(sum.rooms, call.part, range);
    Status sound = views.add_message(call, *arrived, from, range);
    if (sound) sound = views.add(call, mine.list().in(call, range), call.part.position);
    if (!sound) return sound;
    const Scale scale = is_last ? sparse::scale_of(call.part) : Scale();
    const double left = call.measures.value(sparse::measure::left);
    const Status merged = merge_capped(call, sum, views, range, scale, cap_of(call.part, range));
    count_dropped(call, left);
    return merged;
  }
};

/// Makes the steps of one rank, piece by piece. Piece c of range r is piece r * chunks + c of all pieces.
class Ring {
 public:
  Ring(GraphBuilder& g, sparse::Selection mine)
      : g_(g),
        mine_(mine),
        chunks_(sparse::form_of(g).chunks),
        rooms_(sparse::merge_rooms(g)),
        cap_rooms_(cap_rooms(g)) {
    for (Rank i = 0; i < 2 * chunks_; ++i) messages_.push_back(sparse::message_room(g));
  }

  Rank chunks() const { return chunks_; }
  Region pack(Rank range, Rank chunk) {
    const sparse::WriteMessage message = message_in(chunk);
    const Piece piece = piece_of(range, chunk);
    g_.kernel(PackPiece{.mine = sparse::read(mine_), .cap = cap_of(piece), .message = message, .piece = piece});
    return message.region();
  }
  /// Adds the own entries to a message that has arrived. `step` counts from 1. Messages are written to two rooms in
  /// turn, because the one before may still be on its way.
  Region add_own(const Region& arrived, Rank range, Rank chunk, Rank step) {
    const sparse::WriteMessage message = message_in(step % 2 * chunks_ + chunk);
    const Piece piece = piece_of(range, chunk);
    g_.kernel(AddOwn{.mine = sparse::read(mine_),
                     .arrived = arrived,
                     .sum = {.rooms = rooms_, .cap = cap_of(piece), .message = message},
                     .piece = piece,
                     .from = (g_.position() + g_.size() - 1) % g_.size(),
                     .is_last = step == g_.size() - 1});
    return message.region();
  }
  /// Places the message of a result in the output. Messages that become a list of entries are placed together once all
  /// have come.
  void place(const Region& message, Rank from, Rank range, Rank chunk) {
    const Piece piece = piece_of(range, chunk);
    if (!sparse::form_of(g_).listed) return sparse::place_pieces(g_, {message}, from, piece.number, piece.of);
    results_.resize(static_cast<std::size_t>(piece.of));
    results_[static_cast<std::size_t>(piece.number)] = message;
    if (++placed_ == piece.of) sparse::place_pieces(g_, results_, from, 0, piece.of);
  }

 private:
  Piece piece_of(Rank range, Rank chunk) const {
    return {((range % g_.size() + g_.size()) % g_.size()) * chunks_ + chunk, g_.size() * chunks_};
  }
  sparse::WriteMessage message_in(Rank room) {
    return sparse::message_in(g_, messages_[static_cast<std::size_t>(room)]);
  }
  /// Returns the rooms that cap a piece. They hold no other part of the residual.
  CapRooms cap_of(const Piece& piece) const {
    CapRooms rooms = cap_rooms_;
    if (rooms.residual) rooms.residual = sparse::piece_of(rooms.residual.given(), piece.number, piece.of);
    return rooms;
  }

  GraphBuilder& g_;
  sparse::Selection mine_;
  Rank chunks_;
  sparse::MergeRooms rooms_;
  CapRooms cap_rooms_;
  std::vector<Region> messages_, results_;
  Rank placed_ = 0;
};

void build_sparse_ring(GraphBuilder& g) {
  Ring ring(g, select(g));
  const Rank me = g.position();
  std::vector<Region> sums;
  for (Rank chunk = 0; chunk < ring.chunks(); ++chunk) sums.push_back(ring.pack(me - 1, chunk));
  const auto each_step = [&](auto body) {
    for (Rank step = 1; step < g.size(); ++step) {
      for (Rank chunk = 0; chunk < ring.chunks(); ++chunk) {
        Region& sum = sums[static_cast<std::size_t>(chunk)];
        g.send(sum, me + 1);
        body(sum, sparse::receive_message(g, me - 1), step, chunk);
      }
    }
  };
  each_step([&](Region& sum, const Region& arrived, Rank step, Rank chunk) {
    sum = ring.add_own(arrived, me - step - 1, chunk, step);
  });
  for (Rank chunk = 0; chunk < ring.chunks(); ++chunk) ring.place(sums[static_cast<std::size_t>(chunk)], me, me, chunk);
  each_step([&](Region& sum, const Region& arrived, Rank step, Rank chunk) {
    sum = arrived;
    ring.place(arrived, (me + g.size() - 1) % g.size(), me - step, chunk);
  });
}

}  // namespace

// The ring allreduce with messages of entries. Each range's sum grows on its way around the ring, and each message has
// the shortest format. Then the sum goes around once more as it is. Ranks send to their neighbours only. Ranges travel
// in chunks, so that a chunk with many entries delays the others little. It takes 2(P-1) rounds. Each rank sends the
// entries of the sums of 1 .. P-1 ranks, and those of the result P-1 times, each time of a P-th of the places. If sums
// are capped, a range holds no more than the k/P largest entries of its sum. Then a rank sends 2(P-1)/P of k entries,
// and residuals keep the rest (capped.hpp). Such a range travels in one message, because what it keeps depends on all
// of it. Source: the dense ring of Patarasuk and Yuan (2009).
constexpr Algorithm sparse_ring = {
    .collective = Collective::Allreduce,
    .name = "sparse_ring",
    .symmetric = false,
    .build = build_sparse_ring,
    .parameters = &parameter_set<TopkForm>,
};

}  // namespace lacuna
