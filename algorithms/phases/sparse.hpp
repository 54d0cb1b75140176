#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "algorithms/phases/not_finite.hpp"
#include "algorithms/phases/sparse_arguments.hpp"
#include "algorithms/phases/sparse_form.hpp"
#include "runtime/graph/builder.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/values/measure.hpp"

namespace lacuna {

/// The phases of sparse collectives. A rank's *selection* is a list of entries, places and values, sorted by place. The
/// data's places are cut into a *range* for each rank. Ranges are pieces of equal length, blocks, or pieces that hold
/// about equally many entries. A *message* holds the entries of one range, in the shortest format
/// (kernels/entries.hpp). Arguments say how many entries a rank selects. Positions are ranks, because sparse algorithms
/// do not reorder ranks. Their programs are not symmetric.
namespace sparse {

/// The form of the program that is being built, and of the program that runs in this part.
inline Form form_of(const GraphBuilder& g) { return g.parameters<Form>(); }
inline Form form_of(const PartView& part) { return part.part.structure.parameters.as<Form>(); }
inline std::size_t ranks_of(const PartView& part) { return static_cast<std::size_t>(part.size); }
/// The arguments of this part.
inline Arguments arguments_of(const PartView& part) { return part.part.arguments.as<Arguments>(); }
/// How many entries a rank selects at most (Predictions::most_entries).
inline std::uint64_t room_of(const PartPlan& part) { return part.arguments.as<Arguments>().room; }

/// The measures that all sparse methods have.
namespace measure {
inline constexpr Measure asked = {.name = "entries_asked",
                                  .help = "entries that each rank was to send",
                                  .unit = Unit::Entries,
                                  .by = CountedBy::Plan,
                                  .role = MeasureRole::Asked};
inline constexpr Measure selected = {.name = "entries_selected",
                                     .help = "entries that a rank has selected of its own data",
                                     .unit = Unit::Entries,
                                     .role = MeasureRole::Selected};
inline constexpr Measure contributed = {
    .name = "entries_contributed", .help = "selected entries that have reached the result", .unit = Unit::Entries};
inline constexpr Measure left = {
    .name = "elements_left", .help = "elements that are left for a later call", .unit = Unit::Elements};
inline constexpr Measure threshold = {
    .name = "threshold", .help = "a rank has taken the elements above this magnitude", .unit = Unit::Magnitude};
inline constexpr Measure result = {.name = "entries_result",
                                   .help = "elements of the result that are not zero",
                                   .unit = Unit::Entries,
                                   .role = MeasureRole::Result};
inline constexpr Measure select_time = {
    .name = "select", .help = "time in which kernels chose what is sent", .unit = Unit::Seconds};
inline constexpr Measure pack_time = {
    .name = "pack", .help = "time in which kernels wrote messages", .unit = Unit::Seconds};
inline constexpr Measure merge_time = {
    .name = "merge", .help = "time in which kernels added up messages", .unit = Unit::Seconds};
}  // namespace measure
inline constexpr std::array measures = {
    &measure::asked,     &measure::selected, &measure::contributed, &measure::left,      &dropped_elements,
    &measure::threshold, &measure::result,   &measure::select_time, &measure::pack_time, &measure::merge_time};

/// The array of the state that holds momentum.
inline constexpr std::string_view velocity_array = "velocity";

/// Returns how many of so many places a rank is to select: k or, if k is 0, the share `density` of them. The result is
/// one at least and all at most.
std::size_t entries_asked(double density, std::size_t k, std::size_t places);

/// Returns ok, or why entries can't serve this call of the method. Its data may not be of floating point, it may be too
/// long, or its reduction may be neither sum nor avg.
Status check_call(std::string_view method, const Call& call, Rank size);

/// Returns how many places the data of a rank have, all blocks together.
std::size_t places_of(const PartView& part);

/// What a rank has selected of its input. Each method has a step of its own that selects.
struct Selection {
  Region places, values;
  Value count = Value::None;  ///< entries
};
/// Makes room for a selection. A step has yet to write it.
Selection room_for_selection(GraphBuilder& g);

/// These two return all of the call's input or output. It is a list of blocks if the collective has blocks there.
std::vector<Region> whole_input(GraphBuilder& g);
std::vector<Region> whole_output(const GraphBuilder& g);
/// Returns all of an array of the state. The array is laid out like the input.
std::vector<Region> whole_array(GraphBuilder& g, std::string_view name);
/// Returns the regions of both lists, `first` before `second`.
std::vector<Region> joined(std::vector<Region> first, const std::vector<Region>& second);
/// Returns one of `of` equal pieces of a buffer.
Region piece_of(const Region& all, Rank piece, Rank of);

/// Returns how many bins, of 16 bytes each, serve to cut the selections of ranks that send at most so many entries into
/// balanced ranges. They are so few that they cost about a tenth of what the entries cost. It is 0 if there are too few
/// entries to balance ranges by them.
int bins_for(std::size_t entries, Rank size);

/// Returns a table of the ranges of all ranks. They are of equal length, or the blocks.
Region even_ranges(GraphBuilder& g);
/// Writes a partition of the places into stretches that hold about equally many of the entries that all ranks have
/// selected. `partition` is a buffer of 64-bit integers, whose length the method chooses. If it has P integers or more,
/// and ranks select 10 (P-1) entries or more on average, a range holds at most 1.1 times the mean (sparse_histogram.hpp
/// says how exactly). It costs a ring allreduce of 2 words for each of `bins` bins. If entries lie unevenly within a
/// bin that must be cut, the samples of each rank go around the ring once too.
void partition_by_load(GraphBuilder& g, const Selection& mine, const Region& partition);
/// Returns how many rounds partition_by_load() takes on so many ranks.
constexpr int partition_rounds(Rank size) { return 3 * (size - 1); }
/// Returns a table of ranges that are made from a partition of this call or of an earlier one. That call may have had
/// another number of ranks: then the ranges are about as even. A partition of zeros, which no call has written, gives
/// ranges of equal length.
Region ranges_by(GraphBuilder& g, const Region& partition);
/// Partitions the places by load, and returns the table of ranges that this gives.
Region balanced_ranges(GraphBuilder& g, const Selection& mine);

/// Makes room for the message of a range of a selection.
Region selection_room(GraphBuilder& g);
/// Writes a message of the selection for each rank's range. Returns the messages by distance from the own rank.
std::vector<Region> pack_for_all(GraphBuilder& g, const Selection& mine, const Region& ranges);
/// Writes one message of the whole selection.
Region pack_whole(GraphBuilder& g, const Selection& mine);

/// Receives the next message of rank `from`.
Region receive_message(GraphBuilder& g, Rank from);
/// The split: each rank gets what all ranks have selected in its range. It returns the messages by distance before the
/// own rank. Each rank sends P-1 messages. Message r goes to the rank r after the own one, so that no rank gets two at
/// a time. Source: Li, Hoefler: Near-optimal sparse allreduce for distributed deep learning (PPoPP 2022), section 3.1.
std::vector<Region> split(GraphBuilder& g, const Selection& mine, const Region& ranges);
/// Sums up the messages that came by the split, and returns the message of the sum.
Region reduce_range(GraphBuilder& g, const std::vector<Region>& messages, const Region& ranges);
/// Sends each rank's message to all others. Returns all messages by distance before the own rank.
std::vector<Region> exchange(GraphBuilder& g, const Region& mine);

/// Sums up messages of all ranks, each of all places of the output, and writes the sum to the output. Messages are
/// given by distance.
void sum_to_output(GraphBuilder& g, const std::vector<Region>& messages);
/// Sums up the messages that came by the split for the own range, and writes the sum to the output, which is that
/// range.
void sum_to_output(GraphBuilder& g, const std::vector<Region>& messages, const Region& ranges);
/// Writes the entries of messages of all ranks to the output. Each message is of all places, and no two have an entry
/// at the same place. Messages are given by distance.
void join_in_output(GraphBuilder& g, const std::vector<Region>& messages);
/// Writes each rank's message to the rank's range of the output. Messages are given by distance.
void place_in_output(GraphBuilder& g, const std::vector<Region>& messages, const Region& ranges);
/// Writes each rank's message to the rank's block of the output. Messages are given by distance.
void place_in_blocks(GraphBuilder& g, const std::vector<Region>& messages);
/// Writes messages of rank `from` to the output's pieces from number `piece` on. The output has `of` pieces.
void place_pieces(GraphBuilder& g, const std::vector<Region>& messages, Rank from, Rank piece, Rank of);

}  // namespace sparse
}  // namespace lacuna
