#pragma once

#include <cstddef>
#include <cstdint>

#include "bindings/cli/explain/explain.hpp"
#include "runtime/graph/algorithm.hpp"
#include "runtime/graph/plan.hpp"

namespace lacuna::cli {

/// What an algorithm costs, counted in its graphs. On a board, each row counts as a message to each other rank.
struct Cost {
  int steps = 0;                  ///< rounds: messages in the longest chain in which each waits for the one before
  int rank_messages = 0;          ///< the most that one rank sends and receives together
  std::uint64_t rank_bytes = 0;   ///< the most that one rank sends or receives
  std::uint64_t host_bytes = 0;   ///< the most that one host sends to others or receives from them
  std::uint64_t total_bytes = 0;  ///< what all ranks send
  std::uint64_t total_messages = 0;
  bool on_board = false;         ///< its messages are rows of a board
  bool maps_copies = false;      ///< inside a host, long messages are read from copies
  bool depends_on_data = false;  ///< more is sent, as much as values say, which only a call knows
};

/// Inside a host, sending and receiving a message both take a processor half of the message's time. Returns how many
/// messages follow one another in the longest chain, or on the busiest rank if these are more.
double messages_in_turn(const Cost& cost);

/// Returns the predicted time of a call that costs so much. Between hosts it is the latencies of the chain, and the
/// busiest host's bytes over its link. Inside a host it is that of the messages in turn, or of all messages on all
/// processors if that is longer.
double predicted_seconds(const Cost& cost, const ExplainOptions& options);

/// Counts the cost of one call of `count` elements of `dtype` in one part. Data in buffers of another type count as of
/// `dtype`.
Cost cost_of(const Algorithm& algorithm, const Hosts& hosts, std::size_t count, Dtype dtype,
             const Structure& structure = {});

/// Returns a part of such a call's first run that carries the result: one that is not dense, or else the first.
PartPlan part_of(const Call& call, const Algorithm& algorithm, const Hosts& hosts);

/// Does what such a call sends, and so what its result lacks, depend on the data?
bool depends_on_data(const Call& call, const Hosts& hosts);

/// How many ranks' values are in the result of such a call.
struct Contributors {
  Rank fewest = 0;  ///< the fewest to an element; 0: nothing is reduced
  double mean = 0;
};

Contributors contributors_of(const Algorithm& algorithm, const Hosts& hosts, std::size_t count,
                             const Structure& structure);

}  // namespace lacuna::cli
