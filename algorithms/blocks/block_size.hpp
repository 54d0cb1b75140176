#pragma once

#include "algorithms/blocks/steps.hpp"

/// How long blocks are where the options leave it open. In every 32nd run of a state blocks have 16 elements, and all
/// ranks count how many blocks of the result would not be zero if they were longer. Until the next such run, blocks are
/// as long as they can be while the blocks of the result have at most an eighth more elements than with 16. So the
/// length follows the data, without a message.
namespace lacuna::block {

/// The array of the state that holds the counts: for each part that counted, one number for each length.
inline constexpr std::string_view counts_array = "block_counts";
/// Blocks are so long if nothing has been counted.
inline constexpr std::size_t usual_length = 256;
/// The lengths that are counted: 16, 32 ... 4096.
inline constexpr std::size_t least_length = 16, lengths = 9;
inline constexpr std::size_t most_counted_parts = 64;
inline constexpr std::size_t counts_of_state = most_counted_parts * lengths;

/// Does the next run count? For this the ranks need all blocks of the result, and a state. The aggregators of a job
/// have none.
bool counts_next(const PlanRequest& request);
/// In a run that counts and has so many parts, one part of each so many counts, so that most_counted_parts of them do
/// at most. The others look like them.
constexpr std::size_t parts_for_a_count(std::size_t parts) {
  return (parts + most_counted_parts - 1) / most_counted_parts;
}
/// How long blocks are in the next run.
std::size_t length_of_next(const PlanRequest& request);

/// Counts the blocks of the result for all lengths. `sets` has the sets of all owners but this position, whose own set
/// is `own`, if it is an owner.
void count_blocks(GraphBuilder& g, const Region& sets, const Region& own);

}  // namespace lacuna::block
