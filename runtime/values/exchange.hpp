#pragma once

#include <span>

#include "runtime/values/message.hpp"

namespace lacuna {

/// A rank with which this rank exchanges data. Two ranks may be neighbours several times, for instance on both sides of
/// each other in a ring of two, and a rank may be its own neighbour. Each message to a rank, and each from a rank, has
/// a direction of its own: what a rank sends in direction d arrives where its neighbour receives from direction d.
/// ProcessGrid::neighbours() and neighbours_of() make lists of neighbours.
struct Neighbour {
  /// The rank of a place without a neighbour, for instance beyond the border of a grid. Nothing is exchanged there.
  static constexpr Rank nobody = -1;

  Rank rank = nobody;
  int send_direction = 0;     ///< 0 .. largest_direction
  int receive_direction = 0;  ///< the neighbour's send_direction for the message that comes from it

  friend bool operator==(const Neighbour&, const Neighbour&) = default;
};

inline constexpr int largest_direction = 0x7fff;
/// The largest tag of a neighbour exchange. The smallest is 0. The tags of exchanges and those of messages are
/// different ones.
inline constexpr int largest_exchange_tag = 0xffff;

/// What is exchanged with one neighbour. What is received overlaps no other buffer of the exchange.
struct Halo {
  const void* send = nullptr;
  std::size_t send_count = 0;  ///< elements
  void* receive = nullptr;
  std::size_t receive_count = 0;  ///< elements; exactly as many as the neighbour sends
  Dtype dtype = Dtype::F32;
};

/// A neighbour exchange: halos[i] goes to and comes from neighbours[i]. Each pair of neighbours calls it with counts
/// that fit. If a message is longer or shorter than its receiver expects, or has another element type, the exchange
/// fails with Mismatch, and so does the communicator on all ranks, here at once. An empty halo is exchanged too.
/// Exchanges with one tag meet in the order in which they were started; those with different tags do not wait for each
/// other. An exchange waits for the neighbours only, and need not be in order with collectives.
struct Exchange {
  std::span<const Neighbour> neighbours = {};
  std::span<const Halo> halos = {};
  int tag = 0;
  Memory memory = {};
  MessageOptions options = {};
};

}  // namespace lacuna
