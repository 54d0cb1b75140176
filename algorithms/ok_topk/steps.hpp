#pragma once

#include <algorithm>

#include "algorithms/ok_topk/form.hpp"
#include "algorithms/ok_topk/ok_topk.hpp"
#include "algorithms/phases/predictions.hpp"
#include "algorithms/phases/sparse.hpp"
#include "runtime/method/method.hpp"

/// This file has what the files of ok_topk share.
namespace lacuna::ok {

inline const OkTopk& options_of(const Call& call) { return call.options.method.as<OkTopk>(); }

/// The form of the program that is being built, and of a part of a plan.
inline Form form_of(const GraphBuilder& g) { return g.parameters<Form>(); }
inline Form form_of(const PartPlan& part) { return part.structure.parameters.as<Form>(); }

/// The names of the state's arrays. Each rank has its own threshold; the partition, from which ranges are made, is
/// equal on all ranks.
inline constexpr std::string_view local_threshold = "local_threshold";
inline constexpr std::string_view partition = "partition";
inline constexpr std::size_t threshold_words = 5;
/// How many bins the histogram has. It depends on nothing but the number of places.
int bins_of(std::size_t places);
/// How many words the partition has. It depends on nothing but the number of places.
std::size_t words_of_partition(std::size_t places);

/// Returns how many elements a rank takes by its threshold: a third too many at most. There is room for one more of
/// each further range, which tells that something is not finite there.
constexpr std::size_t most_by_threshold(std::size_t wanted, std::size_t places) {
  return std::min(places, wanted + std::max<std::size_t>(wanted / 3, 1));
}
/// Returns k: how many elements each rank is to send, and how many the result is to have.
std::size_t entries_asked(const Call& call, Rank size);

/// The measures of ok_topk beside those of all sparse methods.
namespace measure {
inline constexpr Measure global_threshold = {
    .name = "global_threshold", .help = "no sum of the result is smaller", .unit = Unit::Magnitude};
inline constexpr Measure largest_block = {.name = "largest_block",
                                          .help = "the most entries that one range has brought to the result",
                                          .unit = Unit::Entries};
inline constexpr Measure balanced = {
    .name = "balanced", .help = "calls whose blocks were made equally long", .unit = Unit::Calls};
inline constexpr Measure bound_words = {.name = "bound_words",
                                        .help = "6k(P-1)/P, which bounds what a rank sends",
                                        .unit = Unit::Words,
                                        .by = CountedBy::Plan};
}  // namespace measure

// The steps of the paper's algorithm 1. The numbers in brackets are its lines.

/// The cut by which a rank selects, as values: Cut::above, Cut::ties, and whether the input is in the accumulator yet.
struct CutValues {
  Value above = Value::None, ties = Value::None, added = Value::None;
};
/// Finds the cut of the rank's selection. (1, and line 2 of the paper's algorithm 2)
CutValues find_threshold(GraphBuilder& g);
/// Selects from all places. (3)
sparse::Selection select_all(GraphBuilder& g, const CutValues& cut);
/// Cuts the places into ranges anew, by what all ranks have selected, and returns the table of ranges. (2)
Region repartition(GraphBuilder& g, const sparse::Selection& mine);
/// Returns the table of the ranges that were cut last.
Region last_ranges(GraphBuilder& g);

/// What a rank has selected, the ranges, and the sums of what all ranks have selected in the rank's own range. Places
/// count from the first place of the data.
struct Reduced {
  sparse::Selection mine;
  Region ranges;
  sparse::Selection sums;
};
/// Sends each rank what was selected in its range, and sums up what comes, bucket by bucket. (4)
Reduced split_and_reduce(GraphBuilder& g, const Region& ranges, const sparse::Selection& mine);
/// Selects range by range, sends each rank what was selected in its range, and sums up what comes. The entries of one
/// range travel while the next range is searched. (3 and 4)
Reduced split_and_reduce(GraphBuilder& g, const Region& ranges, const CutValues& cut);

/// How many entries the blocks of all ranks have together, and how many the largest block has.
struct Sizes {
  Value total = Value::None, largest = Value::None;
};
/// Makes the k largest of all sums the result. (5)
Sizes gather_largest(GraphBuilder& g, const Reduced& reduced);
/// Lets the ranks tell each other how large their sums are, and agree on the quota of each rank. The quotas decide
/// which part follows. (6)
void agree_on_quotas(GraphBuilder& g, const Reduced& reduced);
/// What Stage::Sums has left for the part that follows it.
struct Told {
  Reduced reduced;
  Value quota = Value::None;  ///< how many of its sums this rank brings to the result
  Sizes sizes;
};
Told recall(GraphBuilder& g);
/// Selects the largest of the own sums, as many as the quota says. They are the block of this rank. (6)
sparse::Selection select_globally(GraphBuilder& g, const Told& told);
/// Makes the blocks of all ranks the result. (6)
void gather_blocks(GraphBuilder& g, const sparse::Selection& block, const Region& ranges);
/// Makes the blocks of all ranks the result, but first moves entries between ranks, in the order of their places, so
/// that all ranks hold equally many. (6)
void gather_balanced(GraphBuilder& g, const sparse::Selection& block);
/// Removes from the accumulator what has been selected and is in the result, and moves the rank's threshold. (7)
void settle(GraphBuilder& g, const Reduced& reduced, const Sizes& sizes);

// These functions return the memory in which Stage::Sums leaves something for the part that follows it. In Stage::Whole
// it is the part's own memory. The lists have no counts yet.

sparse::Selection shared_selection(GraphBuilder& g);
sparse::Selection shared_sums(GraphBuilder& g);
/// Room for the quotas of all ranks, for how many entries this one has selected, and for how many sums it has.
Region sizes_room(GraphBuilder& g);

/// These are the functions of the method.
Status check(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
bool lossless(const Call& call, const Hosts& hosts, std::size_t entries);
void plan(const PlanRequest& request, Plan& plan);
std::optional<PartPlan> follow(const Followed& part);
double expected_bytes(const ExpectedPart& part);
double result_entries(const ExpectedPart& part);
int rounds(const PartPlan& part, Rank size);
int expected_rounds(const ExpectedPart& part);

extern const Algorithm allreduce;

}  // namespace lacuna::ok
