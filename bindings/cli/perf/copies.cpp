#include "bindings/cli/perf/copies.hpp"

#include <algorithm>
#include <chrono>

#include "bindings/cli/perf/method.hpp"

namespace lacuna::cli {
namespace {

using kernels::DeviceStream;

/// Copies between pinned memory and memory of a device, in both directions at the same time.
class CopiesAlone {
 public:
  CopiesAlone(kernels::Device& device, std::size_t bytes)
      : device_(device), bytes_(bytes), piece_(std::min(bytes, std::size_t{4} << 20)) {}

  /// Copies all bytes in each direction, and returns how many seconds that takes.
  double seconds() {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t offset = 0; offset < bytes_; offset += piece_) {
      const std::size_t bytes = std::min(piece_, bytes_ - offset);
      device_.copy(DeviceStream::ToHost, host_[0].data(), there_[0].data(), bytes);
      device_.copy(DeviceStream::ToDevice, there_[1].data(), host_[1].data(), bytes);
    }
    for (const DeviceStream stream : {DeviceStream::ToHost, DeviceStream::ToDevice}) wait(stream);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  void wait(DeviceStream stream) {
    kernels::Event* const event = device_.take_event();
    device_.record(event, stream);
    while (!device_.has_passed(event)) {
    }
    device_.give_back(event);
  }

  kernels::Device& device_;
  const std::size_t bytes_, piece_;
  MemoryBlock there_[2] = {MemoryBlock(piece_, device_.memory()), MemoryBlock(piece_, device_.memory())};
  MemoryBlock host_[2] = {MemoryBlock(piece_, device_.pinned()), MemoryBlock(piece_, device_.pinned())};
};

}  // namespace

Copies::Copies(Bench& bench) : bench_(bench), before_(copied()) {}

std::uint64_t Copies::copied() const { return bench_.device ? bench_.device->calls().copied : 0; }

Status Copies::measure(PerfFigures& figures) {
  if (!bench_.device) return {};
  const double calls = 1.0 * figures.iterations * bench_.options.operations;
  figures.copied_bytes = static_cast<double>(copied() - before_) / calls;
  if (Status added = over_ranks(bench_.communicator, Reduction::Avg, figures.copied_bytes); !added) return added;
  CopiesAlone alone(*bench_.device, static_cast<std::size_t>(figures.copied_bytes / 2));
  double least = alone.seconds();
  for (int again = 0; again < 3; ++again) least = std::min(least, alone.seconds());
  figures.copies = least * 1e6;
  return over_ranks(bench_.communicator, Reduction::Avg, figures.copies);
}

}  // namespace lacuna::cli
