#include "kernels/told_results.hpp"

#include <stdexcept>
#include <thread>

namespace lacuna::kernels {
namespace {

constexpr std::size_t all_bytes = 64 * 1024;  // of all cells
constexpr std::size_t alignment = 16;
constexpr int looks_at_once = 64;  // before the thread yields: on a busy machine that takes much longer than a kernel

}  // namespace

ToldCells::CellMemory::CellMemory(MemorySpace& space) : space_(space), data_(space.take(all_bytes)) {}

ToldCells::CellMemory::~CellMemory() { space_.give_back(data_, all_bytes); }

ToldCells::ToldCells(Device& device)
    : device_(device), here_(device.pinned()), there_(device.memory()), event_(device.take_event()) {}

ToldCells::~ToldCells() { device_.give_back(event_); }

/// A call has few cells, which together take less than all. So no cell that it needs is taken again.
ToldCells::Cell ToldCells::take(std::size_t bytes) {
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  if (whole > all_bytes / 4) throw std::length_error("a result on the host is too long for the cells of a device");
  if (used_ + whole > all_bytes) {
    wait();
    used_ = 0;
  }
  const Cell cell{here_.at(used_), there_.at(used_)};
  used_ += whole;
  return cell;
}

void ToldCells::wait() {
  device_.record(event_, DeviceStream::Compute);
  for (int looks = 1; !device_.has_passed(event_); ++looks) {
    if (looks % looks_at_once == 0) std::this_thread::yield();
  }
}

}  // namespace lacuna::kernels
