#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings/cli/shared/pattern.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/report.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::cli {

/// What `lacuna perf` measures. The letters are those of nccl-tests.
struct PerfOptions {
  Collective collective = Collective::Allreduce;
  bool messages = false;  ///< sendrecv instead: each rank sends to the next and receives from the one before
  std::vector<std::string> algorithms;   ///< one row each; empty: lacuna chooses
  std::size_t begin_bytes = 8;           ///< -b
  std::size_t end_bytes = 32 << 20;      ///< -e
  std::size_t factor = 2;                ///< -f
  std::optional<int> iterations{};       ///< -n; none: as many as a stable time takes
  int warmup = 5;                        ///< -w
  int operations = 1;                    ///< -m: calls in flight at a time in each iteration
  Dtype dtype = Dtype::F32;              ///< -d
  Reduction reduction = Reduction::Sum;  ///< -o
  bool check = true;                     ///< -c
  Rank root = 0;                         ///< -r
  MethodOptions method{};                ///< --method: for the algorithms that serve it
  bool percentiles = false;              ///< --percentiles: also time each iteration
  int groups = 1;                        ///< --groups: the ranks split into that many, which measure at the same time
  Priority priority = Priority::Normal;  ///< --priority: of the calls or messages that are measured
  std::size_t beside = 0;                ///< --beside: bytes of an allreduce that is always in flight meanwhile
  std::vector<double> densities{};       ///< --density: shares of the elements that are not zero; empty: seven eighths
  PatternOptions pattern{};              ///< --pattern: where these elements lie; its density does not count
  MemoryKind device = MemoryKind::Host;  ///< --device: where the buffers lie, Host or Cuda
  bool mapped = false;                   ///< --memory: the buffers of the host lie in memory that other ranks can map
  std::string json_path;                 ///< -J

  std::string_view subject() const { return messages ? "sendrecv" : to_string(collective); }
};

/// Percentiles of the times of single iterations in microseconds. The time of an iteration is that of its slowest rank.
struct Percentiles {
  double least = 0, p50 = 0, p95 = 0, p99 = 0;
};

/// One measured line, for one placement of the buffers.
struct PerfFigures {
  double microseconds = 0;         ///< per call, of the slowest rank
  int iterations = 0;              ///< how many were timed
  double spread = 0;               ///< of the times of batches (Timing::spread); 0: -n was given
  bool shares_processor = false;   ///< at the end, two ranks were on one processor (ranks_share_processors)
  double algorithm_bandwidth = 0;  ///< size divided by time, GB/s
  /// GB/s by nccl-tests' definition; of a call that the method serves, payload_bytes divided by time.
  double bus_bandwidth = 0;
  /// Wrong elements on all ranks. None: not checked, because a call that leaves out what its data say may have lost
  /// some.
  std::optional<std::size_t> wrong{};
  /// For such a call: the L2 norm of its result's difference from the dense result, over the norm of the dense result.
  std::optional<double> error{};
  double payload_bytes = 0;      ///< bytes of a timed call, on average, on the rank that has sent most
  std::vector<double> phases{};  ///< microseconds of a call in the kernels of phases_of(), on average over the ranks
  Percentiles percentiles;       ///< only if they were asked for
  /// With --device cuda, bytes of a timed call that were copied between host and device, on average over the ranks, and
  /// how many microseconds so many bytes take alone, half of them in each direction.
  double copied_bytes = 0, copies = 0;

  /// Returns what remains of a call's time beside the phases.
  double wire() const;
};

/// What the method of one call has left out, over all ranks, compared with the dense call of the same algorithm.
struct PerfReport {
  bool served = false;       ///< the method served the call
  MeasureValues measures{};  ///< those of rank 0
  int rounds_saved = 0;      ///< in the longest chain of messages
  double bytes_saved = 0;    ///< as a share of the dense call's bytes
  Rank fewest = 0;           ///< the fewest contributors to an element
  double contributors = 0;   ///< contributors on average; 0: nothing is reduced, or nothing was to be left out
  double density_in = 0;     ///< which share of its data a rank has selected, on average
  double density_out = 0;    ///< which share of the output is not zero, on average; only if the method counts it
};

struct PerfRow {
  std::size_t bytes = 0;  ///< nccl-tests' size: of all ranks' blocks together where there are blocks
  std::size_t count = 0;
  std::optional<double> density{};  ///< asked for by --density
  std::string algorithm;
  PerfFigures out_of_place, in_place;  ///< messages are never in place
  std::uint64_t payload_bytes = 0;     ///< sent per call by the rank that sends most, counted by the transport
  int beside = 0;                      ///< allreduces of --beside that rank 0 has started meanwhile
  PerfReport report{};
};

/// Returns the measures that say how long the kernels of a method took (Measure::is_time_of_kernels). They are the
/// phases of a call.
std::vector<const Measure*> phases_of(const Method& method);

/// Joins the job of the environment, measures and prints (rank 0). Returns the exit code.
int perf(const PerfOptions& options);

/// The next functions make the lines of the table and the file of -J.
std::string perf_header(const PerfOptions& options, Rank size, const std::vector<std::string>& hosts);
/// p% of the times are at most the percentile p. The times may come in any order; there is at least one.
Percentiles percentiles_of(std::vector<double> microseconds);
std::string perf_line(const PerfOptions& options, const PerfRow& row);
std::string perf_footer(const std::vector<PerfRow>& rows);
Status write_perf_json(const PerfOptions& options, Rank size, const std::vector<std::string>& hosts,
                       const std::vector<PerfRow>& rows);

}  // namespace lacuna::cli
