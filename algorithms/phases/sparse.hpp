#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "algorithms/phases/sparse_arguments.hpp"
#include "algorithms/phases/sparse_form.hpp"
#include "runtime/graph/builder.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/values/measure.hpp"

namespace lacuna {

/// The phases of sparse collectives. A rank's *selection* is a list of entries, places and values, sorted by place. The
/// data's places are cut into a *range* for each rank: pieces of equal length, blocks, or pieces that hold about as
/// many entries each. What travels is a *message*: the entries of one range, in the shortest format
/// (kernels/entries.hpp). Arguments say how many entries a rank selects. Positions are ranks: sparse algorithms
/// order none. Their programs are not symmetric.
namespace sparse {

/// The form of the program that is being built, and of the program that runs in this part.
inline Form form_of(const GraphBuilder& g) { return g.parameters<Form>(); }
inline Form form_of(const PartView& part) { return part.part.structure.parameters.as<Form>(); }
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
    .name = "threshold", .help = "magnitude above which a rank has taken them", .unit = Unit::Magnitude};
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
inline constexpr std::array measures = {&measure::asked,       &measure::selected,  &measure::contributed,
                                        &measure::left,        &measure::threshold, &measure::result,
                                        &measure::select_time, &measure::pack_time, &measure::merge_time};

/// The array of the state that holds momentum.
inline constexpr std::string_view velocity_array = "velocity";

/// How many of so many places are this share of them, or k, if that is not 0: one at least, all at most.
std::size_t entries_asked(double density, std::size_t k, std::size_t places);

/// Ok, or why entries can't serve this call of the method: of other than floating-point data, or too long, or for
/// another reduction than a sum.
Status check_call(std::string_view method, const Call& call, Rank size);

/// Of the data that a rank brings: all blocks together.
std::size_t places_of(const PartView& part);

/// What a rank has selected of its input, as a step of the method's own does it.
struct Selection {
  Region places, values;
  Value count = Value::None;  ///< entries
};
/// Room for one, which is not defined yet.
Selection room_for_selection(GraphBuilder& g);

/// All of what the call has there, in order: blocks where the collective has such.
std::vector<Region> whole_input(GraphBuilder& g);
std::vector<Region> whole_output(const GraphBuilder& g);
/// The same of an array of the state, which is like the input.
std::vector<Region> whole_array(GraphBuilder& g, std::string_view name);
/// Both, one behind the other.
std::vector<Region> joined(std::vector<Region> first, const std::vector<Region>& second);
/// One of so many pieces of a buffer.
Region piece_of(const Region& all, Rank piece, Rank of);

/// Bins, of 16 bytes each, by which the selections of ranks that send at most so many entries are cut into balanced
/// ranges: so few that they cost about a tenth of what the entries do. 0: too few to tell.
int bins_for(std::size_t entries, Rank size);

/// A table of the ranges of all ranks: of equal length, or the blocks.
Region even_ranges(GraphBuilder& g);
/// Writes a partition of the places into stretches that hold as many of the entries each that all ranks have selected:
/// a buffer of whole numbers of 64 bits, as many as the method likes. Where these are P or more, and ranks select 10
/// (P-1) entries or more on average, a range holds at most 1.1 times the mean (sparse_histogram.hpp says how exactly).
/// What travels is a ring allreduce of 2 words for each of `bins` bins and, where entries lie unevenly within a bin
/// that must be cut, the samples of each rank once around the ring.
void partition_by_load(GraphBuilder& g, const Selection& mine, const Region& partition);
/// The rounds of its messages on so many ranks.
constexpr int partition_rounds(Rank size) { return 3 * (size - 1); }
/// A table of ranges by a partition of this call or of an earlier one, maybe of another number of ranks: then they are
/// about as even. A partition of zeros, which no call has written, gives ranges of equal length.
Region ranges_by(GraphBuilder& g, const Region& partition);
/// Both.
Region balanced_ranges(GraphBuilder& g, const Selection& mine);

/// Room for the message of a range of a selection.
Region selection_room(GraphBuilder& g);
/// Messages of the selection for the ranges of all ranks, by distance from the own rank.
std::vector<Region> pack_for_all(GraphBuilder& g, const Selection& mine, const Region& ranges);
/// The message of all of it.
Region pack_whole(GraphBuilder& g, const Selection& mine);

/// The next message of this rank.
Region receive_message(GraphBuilder& g, Rank from);
/// The split: each rank gets what all have in its range, by distance before the own rank. P-1 messages, in round r to
/// the rank r after the own one, so that none gets two at a time. Source: Li, Hoefler: Near-optimal sparse allreduce
/// for distributed deep learning (PPoPP 2022), section 3.1.
std::vector<Region> split(GraphBuilder& g, const Selection& mine, const Region& ranges);
/// The message of the sum of what the split has brought.
Region reduce_range(GraphBuilder& g, const std::vector<Region>& messages, const Region& ranges);
/// Each rank's message goes to all others: all of them, by distance before the own rank.
std::vector<Region> exchange(GraphBuilder& g, const Region& mine);

/// The output is the sum of these messages of all ranks, by distance, each of all that the output holds.
void sum_to_output(GraphBuilder& g, const std::vector<Region>& messages);
/// The same of what the split has brought for the own range, which is the output.
void sum_to_output(GraphBuilder& g, const std::vector<Region>& messages, const Region& ranges);
/// The output is what these messages of all ranks say, by distance, each of all places; no two of the same one.
void join_in_output(GraphBuilder& g, const std::vector<Region>& messages);
/// The output is what each rank's message, by distance, says of its range.
void place_in_output(GraphBuilder& g, const std::vector<Region>& messages, const Region& ranges);
/// The same where each has a block.
void place_in_blocks(GraphBuilder& g, const std::vector<Region>& messages);
/// The output's pieces from `piece` on, of so many, are what these messages of `from` say.
void place_pieces(GraphBuilder& g, const std::vector<Region>& messages, Rank from, Rank piece, Rank of);

}  // namespace sparse
}  // namespace lacuna
