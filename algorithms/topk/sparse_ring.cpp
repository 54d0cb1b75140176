#include "algorithms/topk/capped.hpp"
#include "algorithms/topk/selecting.hpp"

namespace lacuna {
namespace {

using sparse::List;
using sparse::Range;

/// How many entries a message of this piece may hold. Where sums are capped, a piece is a range, and may hold the P-th
/// part of the entries that a rank is asked for.
std::size_t cap_of(const PartView& part, const Range& piece) {
  if (!sparse::form_of(part).capped) return piece.length();
  const auto ranks = static_cast<std::size_t>(part.size);
  return (sparse::arguments_of(part).wanted + ranks - 1) / ranks;
}

/// Subtracts what was dropped from `contributed`, because it does not reach the result.
void count_dropped(const KernelCall& call, std::uint64_t kept_before) {
  call.counted.contributed -= call.counted.kept - kept_before;
}

/// Packs the own entries of piece given[0] of given[1] pieces.
Status pack_piece(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::measure::pack_time);
  const Range piece = sparse::piece_range(call.part, call.given[0], call.given[1]);
  const List mine = List::of(call.reads[0], call.reads[1], call.uses[0]);
  const std::uint64_t kept = call.counted.kept;
  call.defines[0] = sparse::write_message(call, cap(call, mine.in(piece), cap_of(call.part, piece)), piece,
                                          call.writes[sparse::merged_message].data);
  count_dropped(call, kept);
  return {};
}

/// Adds the own entries of a piece to a message of rank given[2]. If given[3] is not 0 the sum is the result, and is
/// scaled.
Status add_own(const KernelCall& call) {
  const Range piece = sparse::piece_range(call.part, call.given[0], call.given[1]);
  const List mine = List::of(call.reads[0], call.reads[1], call.uses[0]);
  const Scale scale = call.given[3] ? sparse::scale_of(call.part) : Scale();
  sparse::Views views = sparse::Views::of(call, piece);
  Status sound = views.add_message(call, call.reads[2], static_cast<Rank>(call.given[2]), piece);
  if (sound) sound = views.add(mine.in(piece), call.part.position);
  if (!sound) return sound;
  if (!sparse::form_of(call.part).capped) return sparse::merge(call, views, piece, scale);
  const std::uint64_t kept = call.counted.kept;
  const Status merged = merge_capped(call, views, piece, scale, cap_of(call.part, piece));
  count_dropped(call, kept);
  return merged;
}

constexpr Kernel pack_piece_kernel = {"pack", pack_piece}, add_own_kernel = {"add own", add_own};

/// The steps of one rank, piece by piece. Piece c of range r is piece r * chunks + c of all.
class Ring {
 public:
  Ring(GraphBuilder& g, sparse::Selection mine)
      : g_(g), mine_(mine), chunks_(sparse::form_of(g).chunks), rooms_(sparse::merge_rooms(g)) {
    for (Rank i = 0; i < 2 * chunks_; ++i) messages_.push_back(sparse::message_room(g));
    if (!sparse::form_of(g).capped) return;
    cap_rooms_ = cap_rooms(g);
    residual_ = sparse::whole_array(g, residual_array).front();
  }

  Rank chunks() const { return chunks_; }
  Region pack(Rank range, Rank chunk) {
    const Value bytes = g_.value();
    const Region room = messages_[static_cast<std::size_t>(chunk)];
    const Rank piece = piece_of(range, chunk);
    g_.kernel(pack_piece_kernel, {.reads = {mine_.places, mine_.values},
                                  .writes = writes(room, piece),
                                  .uses = {mine_.count},
                                  .defines = {bytes},
                                  .given = {piece, pieces()}});
    return GraphBuilder::counted(room, bytes);
  }
  /// `step` counts from 1. Messages are written to two rooms in turn, as the one before may still be on its way.
  Region add_own(const Region& arrived, Rank range, Rank chunk, Rank step) {
    const Value bytes = g_.value();
    const Region room = messages_[static_cast<std::size_t>(step % 2 * chunks_ + chunk)];
    const Rank piece = piece_of(range, chunk), from = (g_.position() + g_.size() - 1) % g_.size();
    g_.kernel(add_own_kernel, {.reads = {mine_.places, mine_.values, arrived},
                               .writes = writes(room, piece),
                               .uses = {mine_.count},
                               .defines = {bytes},
                               .given = {piece, pieces(), from, step == g_.size() - 1}});
    return GraphBuilder::counted(room, bytes);
  }
  /// Results that become a list of entries are placed together once all have come.
  void place(const Region& message, Rank from, Rank range, Rank chunk) {
    const Rank piece = piece_of(range, chunk);
    if (!sparse::form_of(g_).listed) return sparse::place_pieces(g_, {message}, from, piece, pieces());
    results_.resize(static_cast<std::size_t>(pieces()));
    results_[static_cast<std::size_t>(piece)] = message;
    if (++placed_ == pieces()) sparse::place_pieces(g_, results_, from, 0, pieces());
  }

 private:
  Rank pieces() const { return g_.size() * chunks_; }
  Rank piece_of(Rank range, Rank chunk) const {
    return ((range % g_.size() + g_.size()) % g_.size()) * chunks_ + chunk;
  }
  std::vector<Region> writes(const Region& message, Rank piece) const {
    sparse::MergeRooms rooms = rooms_;
    rooms.message = message;
    std::vector<Region> all = sparse::joined(rooms.regions(), cap_rooms_);
    if (!cap_rooms_.empty()) all.push_back(sparse::piece_of(residual_, piece, pieces()));
    return all;
  }

  GraphBuilder& g_;
  sparse::Selection mine_;
  Rank chunks_;
  sparse::MergeRooms rooms_;
  std::vector<Region> messages_, cap_rooms_, results_;
  Rank placed_ = 0;
  Region residual_;
};

void build(GraphBuilder& g) {
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

// The ring allreduce with messages of entries: each range's sum grows on its way around the ring, in the shortest
// format of each hop, then goes around once more as it is. Ranks talk to their two neighbours only. Ranges travel in
// chunks, so that one with many entries delays the others little. 2(P-1) steps; each rank sends the entries of the sums
// of 1 .. P-1 ranks, and those of the result P-1 times, of a P-th of the places. Capped, no range holds more than the
// k/P largest entries of its sum: 2(P-1)/P of k entries, and residuals keep the rest (capped.hpp). Such a range travels
// in one message, as what it keeps depends on all of it. Source: the dense ring of Patarasuk and Yuan (2009).
constexpr Algorithm sparse_ring = {
    .collective = Collective::Allreduce,
    .name = "sparse_ring",
    .symmetric = false,
    .build = build,
    .parameters = &parameter_set<TopkForm>,
};

}  // namespace lacuna
