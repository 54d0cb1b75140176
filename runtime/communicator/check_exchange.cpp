#include "runtime/communicator/check_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/values/count_of.hpp"

namespace lacuna::runtime {
namespace {

Status refused(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

/// Two messages between the same ranks in the same direction could not be told apart.
Status check_names(std::span<const Neighbour> neighbours, int Neighbour::*direction, std::string_view verb) {
  std::vector<std::tuple<Rank, int, std::size_t>> names;
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const Neighbour& one = neighbours[i];
    if (one.rank != Neighbour::nobody) names.emplace_back(one.rank, one.*direction, i);
  }
  std::ranges::sort(names);
  const auto same = std::ranges::adjacent_find(names, [](const auto& a, const auto& b) {
    return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b);
  });
  if (same == names.end()) return {};
  const auto& [rank, in_direction, i] = *same;
  return refused(fmt::format("neighbours {} and {} both {} rank {} in direction {}; each needs a direction of its own",
                             i, std::get<2>(*std::next(same)), verb, rank, in_direction));
}

/// What one message reads or writes.
struct Piece {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  bool is_written = false;
  std::size_t neighbour = 0;

  bool reaches(const Piece& next) const { return bytes > next.begin - begin; }
};

std::vector<Piece> pieces_of(const Exchange& exchange) {
  std::vector<Piece> all;
  for (std::size_t i = 0; i < exchange.halos.size(); ++i) {
    const Halo& halo = exchange.halos[i];
    if (exchange.neighbours[i].rank == Neighbour::nobody) continue;
    const std::size_t width = size_of(halo.dtype);
    if (halo.send_count > 0)
      all.push_back({reinterpret_cast<std::uintptr_t>(halo.send), halo.send_count * width, false, i});
    if (halo.receive_count > 0)
      all.push_back({reinterpret_cast<std::uintptr_t>(halo.receive), halo.receive_count * width, true, i});
  }
  return all;
}

std::string name_of(const Piece& piece) {
  return fmt::format("what {} neighbour {}", piece.is_written ? "comes from" : "goes to", piece.neighbour);
}

}  // namespace

Status check_exchange(const Exchange& exchange) {
  if (exchange.halos.size() != exchange.neighbours.size()) {
    return refused(fmt::format("there are {} for {}: each neighbour needs one", count_of(exchange.halos.size(), "halo"),
                               count_of(exchange.neighbours.size(), "neighbour")));
  }
  if (exchange.tag < 0 || exchange.tag > largest_exchange_tag) {
    return refused(fmt::format("tag is {}, must be 0 .. {}", exchange.tag, largest_exchange_tag));
  }
  for (std::size_t i = 0; i < exchange.neighbours.size(); ++i) {
    for (int direction : {exchange.neighbours[i].send_direction, exchange.neighbours[i].receive_direction}) {
      if (direction >= 0 && direction <= largest_direction) continue;
      return refused(
          fmt::format("a direction of neighbour {} is {}, must be 0 .. {}", i, direction, largest_direction));
    }
  }
  if (Status apart = check_names(exchange.neighbours, &Neighbour::send_direction, "send to"); !apart) return apart;
  return check_names(exchange.neighbours, &Neighbour::receive_direction, "receive from");
}

Status check_halos_apart(const Exchange& exchange) {
  std::vector<Piece> pieces = pieces_of(exchange);
  std::ranges::sort(pieces, {}, &Piece::begin);
  const Piece *furthest = nullptr, *furthest_written = nullptr;  // of the pieces so far, those that end last
  const auto note = [](const Piece*& furthest_one, const Piece& piece) {
    if (!furthest_one || piece.begin - furthest_one->begin + piece.bytes > furthest_one->bytes) furthest_one = &piece;
  };
  for (const Piece& piece : pieces) {
    const Piece* const before = piece.is_written ? furthest : furthest_written;
    if (before && before->reaches(piece)) {
      return refused(fmt::format("the memory of {} overlaps that of {}; what is received must lie apart from all else",
                                 name_of(*before), name_of(piece)));
    }
    note(furthest, piece);
    if (piece.is_written) note(furthest_written, piece);
  }
  return {};
}

}  // namespace lacuna::runtime
