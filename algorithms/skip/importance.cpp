#include "algorithms/skip/importance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "algorithms/skip/skipping.hpp"
#include "kernels/backend.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna {
namespace {

constexpr std::string_view importance_array = "importance";

/// Magnitudes are counted by exponent and the first two bits of the mantissa, in ascending order.
constexpr std::size_t bins = kernels::Backend::magnitude_bins;
using Histogram = std::array<std::uint32_t, bins>;

/// A row of the state's array describes one segment.
struct Row {
  std::uint64_t segment = 0;   ///< its place in Skip::segments
  std::uint64_t begun = 0;     ///< the run of the state that was planned last to measure it; kernels do not touch it
  std::uint64_t measured = 0;  ///< the run of the state that measured it last; 0: none did
  std::uint64_t count = 0;     ///< elements
  Histogram histogram{};       ///< magnitudes of a sample of its elements
  std::uint64_t decided = 0;   ///< the measurement from which share and important follow; 0: none
  double share = 0;
  std::uint64_t important = 0;
};
constexpr std::size_t words_of_row = sizeof(Row) / sizeof(std::uint64_t);
static_assert(sizeof(Row) % sizeof(std::uint64_t) == 0);

/// Returns the rows of a state; none if it has no such array.
std::span<const Row> rows_of(const MethodState& state) {
  const StateArray* array = state.find(importance_array);
  if (!array) return {};
  return {reinterpret_cast<const Row*>(array->bytes.data()), array->bytes.size() / sizeof(Row)};
}

std::size_t automatic_segments(const Skip& skip, Dtype dtype) {
  return static_cast<std::size_t>(std::count_if(
      skip.segments.begin(), skip.segments.end(),
      [&](const SkipSegment& segment) { return treatment_of(skip, dtype, segment) == Treatment::Automatic; }));
}

/// Calls visit(state) for all states whose segments are compared with those of `state`.
template <class Visit>
void each_of_model(const MethodState& state, Visit visit) {
  if (state.model.empty()) return visit(state);
  for (const MethodState* one : state.model) visit(*one);
}

/// Where the largest quarter of all measured elements begins.
struct Quarter {
  std::size_t first = bins;  ///< the first bin that belongs to it
  double part = 0;           ///< which share of the elements of that bin belong to it
};

/// Returns how many elements of the segment each element of its sample stands for.
double weight_of(const Row& row) {
  const auto sampled = std::accumulate(row.histogram.begin(), row.histogram.end(), std::uint64_t{0});
  return sampled > 0 ? static_cast<double>(row.count) / static_cast<double>(sampled) : 0;
}

Quarter largest_quarter(const MethodState& state) {
  std::array<double, bins> weighted{};
  double left = 0;
  each_of_model(state, [&](const MethodState& one) {
    for (const Row& row : rows_of(one)) {
      const double weight = weight_of(row);
      for (std::size_t bin = 0; bin < bins; ++bin) weighted[bin] += weight * row.histogram[bin];
      left += 0.25 * static_cast<double>(row.count);
    }
  });
  Quarter quarter;
  while (quarter.first > 0 && left > 0) {
    --quarter.first;
    quarter.part = std::min(weighted[quarter.first] > 0 ? left / weighted[quarter.first] : 0, 1.0);
    left -= weighted[quarter.first];
  }
  return quarter;
}

void decide(const Quarter& quarter, double threshold, Row& row) {
  double inside = 0;
  for (std::size_t bin = quarter.first; bin < bins; ++bin) {
    inside += (bin == quarter.first ? quarter.part : 1) * row.histogram[bin];
  }
  row.share = row.count > 0 ? inside * weight_of(row) / static_cast<double>(row.count) : 0;
  row.important = row.share > threshold;
  row.decided = row.measured;
}

/// Has a run begun to measure this state without having ended? A kernel may be writing the other members of its rows.
bool is_being_measured(const MethodState& state) {
  const auto rows = rows_of(state);
  return state.in_use && std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.begun == state.runs; });
}

/// Does the next run of the state measure this row?
bool is_to_be_measured(const MethodState& state, const Row& row, std::uint64_t every) {
  return state.runs % every == 0 || row.measured == 0;
}

struct MeasureSegments {
  static constexpr std::string_view name = "measure segments";
  Read output;
  Write rows;

  Status operator()(const KernelCall& call) const {
    const Skip& skip = skip_of(call.part.call);
    Row* row = reinterpret_cast<Row*>(rows->data);
    for (const SkipSegment& segment : skip.segments) {
      if (treatment_of(skip, output->dtype, segment) != Treatment::Automatic) continue;
      const auto place = static_cast<std::uint64_t>(&segment - skip.segments.data());
      row->segment = place;
      row->measured = call.part.state_run;
      row->count = segment.count;
      row->histogram = {};
      const std::byte* data = output->data + segment.offset * size_of(output->dtype);
      const std::size_t samples = std::min(segment.count, skip.importance_samples);
      call.backend.count_magnitudes({output->dtype, data, segment.count}, samples, row->histogram.data());
      ++row;
    }
    return {};
  }
};

}  // namespace

std::vector<SegmentImportance> importance_of(const MethodState& state) {
  std::vector<SegmentImportance> all;
  for (const Row& row : rows_of(state)) {
    if (row.measured == 0) continue;
    all.push_back({static_cast<std::size_t>(row.segment), row.count, row.share, row.important != 0, row.decided != 0});
  }
  return all;
}

void add_importance(const Skip& skip, Dtype dtype, MethodState& state) {
  const std::size_t rows = automatic_segments(skip, dtype);
  if (rows > 0) state.array(importance_array, Dtype::I64, rows * words_of_row, false);
}

NextRun next_run_of(const Call& call, std::size_t row_number) {
  const Skip& skip = skip_of(call);
  StateArray* array = call.options.state->find(importance_array);
  if (!array || (row_number + 1) * sizeof(Row) > array->bytes.size()) return NextRun::Measure;
  Row& row = reinterpret_cast<Row*>(array->bytes.data())[row_number];
  if (is_to_be_measured(*call.options.state, row, skip.importance_every)) {
    row.begun = call.options.state->runs + 1;
    return NextRun::Measure;
  }
  if (row.decided != row.measured) decide(largest_quarter(*call.options.state), skip.importance_threshold, row);
  return row.important ? NextRun::Protect : NextRun::Skip;
}

Status importance_ready(const Call& call) {
  const Skip& skip = skip_of(call);
  const MethodState* state = call.options.state;
  const auto waits_for_decision = [&](const Row& row) {
    return row.decided != row.measured && !is_to_be_measured(*state, row, skip.importance_every);
  };
  const std::size_t rows = automatic_segments(skip, call.dtype);
  if (rows == 0) return {};
  const auto known = rows_of(*state);
  if (state->find(importance_array) && known.size() != rows) {
    return {Code::InvalidArgument,
            fmt::format(
                "the state knows the importance of {}, the call has {}: they must be equal, or the state must be new",
                count_of(known.size(), "segment"), rows)};
  }
  const auto waiting = std::find_if(known.begin(), known.end(), waits_for_decision);
  if (waiting == known.end()) return {};
  bool busy = false;
  each_of_model(*state, [&](const MethodState& one) { busy = busy || is_being_measured(one); });
  if (!busy) return {};
  return {Code::Busy, fmt::format("what segment {} does depends on another call of its model, which measures and has "
                                  "not ended: wait for it first",
                                  waiting->segment)};
}

extern const Algorithm measure_importance = {
    .collective = Collective::Allreduce,
    .name = "measure_importance",
    .summary = "no message",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          const Region rows =
              g.buffer({.role = Role::State,
                        .element = Dtype::I64,
                        .capacity =
                            [](const PartView& part) {
                              return automatic_segments(skip_of(part.call), part.call.dtype) * words_of_row;
                            },
                        .name = importance_array,
                        .own = false,
                        .memory = MemoryKind::Host});
          g.kernel(MeasureSegments{.output = GraphBuilder::all_of(Buffer::Output), .rows = rows});
        },
};

}  // namespace lacuna
