#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings/cli/perf/pattern.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/report.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::cli {

/// What `lacuna perf` measures; the letters are nccl-tests'.
struct PerfOptions {
  Collective collective = Collective::Allreduce;
  bool messages = false;                 ///< sendrecv instead: each rank sends to the next and receives from the last
  std::vector<std::string> algorithms;   ///< one row each; empty: lacuna chooses
  std::size_t begin_bytes = 8;           ///< -b
  std::size_t end_bytes = 32 << 20;      ///< -e
  std::size_t factor = 2;                ///< -f
  int iterations = 20;                   ///< -n
  int warmup = 5;                        ///< -w
  int operations = 1;                    ///< -m: calls in flight at a time in each iteration
  Dtype dtype = Dtype::F32;              ///< -d
  Reduction reduction = Reduction::Sum;  ///< -o
  bool check = true;                     ///< -c
  Rank root = 0;                         ///< -r
  MethodOptions method{};                ///< --method: for the algorithms that serve it
  bool percentiles = false;              ///< --percentiles: also time each iteration
  int groups = 1;                        ///< --groups: the ranks split into so many, which measure at the same time
  Priority priority = Priority::Normal;  ///< --priority: of what is measured
  std::size_t beside = 0;                ///< --beside: bytes of an allreduce that is always in flight meanwhile
  std::optional<PatternOptions> pattern{};  ///< --density and --pattern: of what is not zero; none: seven eighths are
  std::string json_path;                    ///< -J

  std::string_view subject() const { return messages ? "sendrecv" : to_string(collective); }
};

/// Of the times of single iterations, each that of its slowest rank; microseconds.
struct Percentiles {
  double p50 = 0, p95 = 0, p99 = 0;
};

/// One measured line, of one placement of the buffers.
struct PerfFigures {
  double microseconds = 0;         ///< per call, of the slowest rank
  double algorithm_bandwidth = 0;  ///< size over time, GB/s
  double bus_bandwidth = 0;        ///< nccl-tests' definition, GB/s
  /// Elements, on all ranks; none: not checked, as a call that leaves out what its data say may have lost some.
  std::optional<std::size_t> wrong{};
  /// Of such a call: the L2 norm of what the result is off the dense one, over that of the dense one.
  std::optional<double> error{};
  double payload_bytes = 0;      ///< of a timed call, on average, of the rank that has sent most
  std::vector<double> phases{};  ///< microseconds of a call in the kernels of phases_of(), on average over the ranks
  Percentiles percentiles;       ///< where they were asked for

  /// What remains of a call's time.
  double wire() const;
};

/// What the method of one call has left out, over all ranks, beside the dense call of the same algorithm.
struct PerfReport {
  bool served = false;       ///< the method served the call
  MeasureValues measures{};  ///< of rank 0
  int rounds_saved = 0;      ///< in the longest chain of messages
  double bytes_saved = 0;    ///< share of the dense call's
  Rank fewest = 0;           ///< contributors to an element
  double contributors = 0;   ///< on average; 0: nothing is reduced, or nothing was to be left out
  double density_in = 0;     ///< share of its data that a rank has selected, on average
  double density_out = 0;    ///< share of the output that is not zero, likewise; where the method counts it
};

struct PerfRow {
  std::size_t bytes = 0;  ///< nccl-tests' size: of all ranks' blocks together where there are blocks
  std::size_t count = 0;
  std::string algorithm;
  PerfFigures out_of_place, in_place;  ///< messages are never in place
  std::uint64_t payload_bytes = 0;     ///< sent per call by the rank that sends most, counted by the transport
  int beside = 0;                      ///< allreduces of --beside that rank 0 has started meanwhile
  PerfReport report{};
};

/// The measures that say how long the kernels of a method took (Measure::is_time_of_kernels): the phases of a call.
std::vector<const Measure*> phases_of(const Method& method);

/// Joins the job of the environment, measures and prints (rank 0). Returns the exit code.
int perf(const PerfOptions& options);

/// The lines of the table, and the file of -J.
std::string perf_header(const PerfOptions& options, Rank size, const std::vector<std::string>& hosts);
/// p% of the times are at most that; the times in any order, at least one.
Percentiles percentiles_of(std::vector<double> microseconds);
std::string perf_line(const PerfOptions& options, const PerfRow& row);
std::string perf_footer(const std::vector<PerfRow>& rows);
Status write_perf_json(const PerfOptions& options, Rank size, const std::vector<std::string>& hosts,
                       const std::vector<PerfRow>& rows);

}  // namespace lacuna::cli
