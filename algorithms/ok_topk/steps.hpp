#pragma once

#include "algorithms/ok_topk/ok_topk.hpp"
#include "algorithms/phases/sparse.hpp"
#include "runtime/method/method.hpp"

/// What the files of ok_topk share.
namespace lacuna::ok {

inline const OkTopk& options_of(const Call& call) { return call.options.method.as<OkTopk>(); }

/// Which part of a run a program is.
enum class Stage : int {
  Whole = 0,    ///< all of it, with an exact selection
  Sums = 1,     ///< up to where all know how many of its sums each rank brings to the result
  Gather = 2,   ///< the rest, with blocks as they are
  Balance = 3,  ///< the rest, with blocks of equal length
};
/// In the number `flags`, above those of sparse::Flag; it also holds the stage.
enum Flag : int { reevaluates = 1 << 8, repartitions = 1 << 9 };
int with_stage(int flags, Stage stage);
Stage stage_of(const Structure& structure);
Stage stage_of(const GraphBuilder& g);
inline bool has(const GraphBuilder& g, Flag flag) { return (g.number(sparse::flags) & flag) != 0; }
/// The number that counts the bucket; ranges have no chunks here.
inline constexpr std::size_t bucket = sparse::chunks;

/// Arrays of the state.
inline constexpr std::string_view local_threshold = "local_threshold";  ///< own, of what a rank selects
inline constexpr std::string_view partition = "partition";              ///< equal, by which ranges are laid
inline constexpr std::size_t threshold_words = 5;
/// Bins of the histogram, and words of the partition, whatever the options and the ranks.
int bins_of(std::size_t places);
std::size_t words_of_partition(std::size_t places);

/// Elements that each rank is to send.
std::size_t entries_asked(const Call& call, Rank size);

/// What it reports beside sparse::Measure.
enum class Measure : std::size_t {
  GlobalThreshold = sparse::measure_names.size(),  ///< below no sum of the result; kernels count the first three
  LargestBlock,                                    ///< entries that one rank's range has brought
  Balanced,                                        ///< 1: blocks were
  BoundWords,                                      ///< 6k(P-1)/P
};

// The steps of the paper's algorithm 1, whose lines are named.

/// The cut of what a rank selects, as values: Cut::above, Cut::ties, and whether all of the input has been added.
struct CutValues {
  Value above = Value::None, ties = Value::None, added = Value::None;
};
/// Line 1, and what line 2 of algorithm 2 adds.
CutValues find_threshold(GraphBuilder& g);
/// Selects from all places. (3)
sparse::Selection select_all(GraphBuilder& g, const CutValues& cut);
/// The table of ranges, cut anew by what all ranks have selected. (2)
Region repartition(GraphBuilder& g, const sparse::Selection& mine);
/// As they were cut last.
Region last_ranges(GraphBuilder& g);

/// What a rank has selected, the ranges, and the sums of what all ranks have selected in its own range. Places count
/// from the first one of all.
struct Reduced {
  sparse::Selection mine;
  Region ranges;
  sparse::Selection sums;
};
/// Sends the selection to those in whose ranges it lies, bucket by bucket. (4)
Reduced split_and_reduce(GraphBuilder& g, const Region& ranges, const sparse::Selection& mine);
/// The same range by range: while one is selected others are on their way. (3, 4)
Reduced split_and_reduce(GraphBuilder& g, const Region& ranges, const CutValues& cut);

/// How many entries the blocks of all ranks have.
struct Sizes {
  Value total = Value::None, largest = Value::None;
};
/// The k largest of all sums become the result. (5)
Sizes gather_largest(GraphBuilder& g, const Reduced& reduced);
/// Ranks tell each other about how large their sums are, and agree on how many of them each one brings to the result.
/// On that depends which part follows. (6)
void agree_on_quotas(GraphBuilder& g, const Reduced& reduced);
/// What Stage::Sums has left.
struct Told {
  Reduced reduced;
  Value quota = Value::None;  ///< of the own sums
  Sizes sizes;
};
Told recall(GraphBuilder& g);
/// The largest of the own sums, as many as the quota says: the block of this rank. (6)
sparse::Selection select_globally(GraphBuilder& g, const Told& told);
/// The blocks of all ranks become the result. (6)
void gather_blocks(GraphBuilder& g, const sparse::Selection& block, const Region& ranges);
/// The same, once entries have moved so that all ranks hold as many, in the order of their places. (6)
void gather_balanced(GraphBuilder& g, const sparse::Selection& block);
/// What has been selected and is in the result leaves the accumulator; the own threshold is moved. (7)
void settle(GraphBuilder& g, const Reduced& reduced, const Sizes& sizes);

// What Stage::Sums leaves to the part that follows; in Stage::Whole, of the part's own. The lists lack their counts.

sparse::Selection shared_selection(GraphBuilder& g);
sparse::Selection shared_sums(GraphBuilder& g);
/// The quotas of all ranks, how many entries this one has selected, and how many sums it has.
Region sizes_room(GraphBuilder& g);

/// What the method's functions do.
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
