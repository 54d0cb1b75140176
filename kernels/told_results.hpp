#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "kernels/device.hpp"

namespace lacuna::kernels {

/// Cells, each of which is a piece of a device's memory and one of pinned memory. The device writes results there that
/// are to lie on the host, and reads there what the host gives. Thread rule: one thread at a time.
class ToldCells {
 public:
  /// Takes memory and an event of the device, which outlives the object. Throws std::bad_alloc.
  explicit ToldCells(Device& device);
  ~ToldCells();
  ToldCells(const ToldCells&) = delete;
  ToldCells& operator=(const ToldCells&) = delete;

  struct Cell {
    std::byte* here = nullptr;   ///< in pinned memory
    std::byte* there = nullptr;  ///< in that of the device
  };

  /// All cells are free again.
  void begin() { used_ = 0; }
  /// Takes a cell. Waits until all cells are free if there is no room. Throws std::length_error if a cell is never so
  /// long.
  Cell take(std::size_t bytes);
  /// Copies bytes between the two pieces of a cell.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    device_.copy(DeviceStream::Compute, to, from, bytes);
  }
  /// Waits until the device has done all that it was given.
  void wait();
  MemoryKind kind_of(const void* place) const { return device_.where(place).kind; }

 private:
  /// Memory for all cells, with any content.
  class CellMemory {
   public:
    explicit CellMemory(MemorySpace& space);
    ~CellMemory();
    CellMemory(const CellMemory&) = delete;
    CellMemory& operator=(const CellMemory&) = delete;
    std::byte* at(std::size_t offset) const { return data_ + offset; }

   private:
    MemorySpace& space_;
    std::byte* const data_;
  };

  Device& device_;
  const CellMemory here_, there_;
  Event* const event_;
  std::size_t used_ = 0;  ///< bytes of the cells that are taken
};

/// The results of one call, which ends with wait().
class ToldResults {
 public:
  explicit ToldResults(ToldCells& cells) : cells_(cells) {}

  /// Returns where the device writes a result: at the place itself, if that does not lie in the host's ordinary memory,
  /// or in a cell. A cell first holds what the place holds.
  template <class T>
  T* at(T* place, std::size_t count = 1) {
    return reinterpret_cast<T*>(place_of(reinterpret_cast<std::byte*>(place), count * sizeof(T)));
  }
  /// Notes results of a call that lie here, in memory that the device reaches.
  void note(const void* place) { waits_ = waits_ || (place && cells_.kind_of(place) != MemoryKind::Cuda); }
  /// Returns where the device reads what the host gives.
  template <class T>
  const T* given(const T* value, std::size_t count = 1) {
    if (count == 0) return nullptr;
    if (!value || cells_.kind_of(value) != MemoryKind::Host) return value;
    return reinterpret_cast<const T*>(cell_with(reinterpret_cast<const std::byte*>(value), count * sizeof(T)).there);
  }

  /// Waits for results that do not lie on the device, and takes them to their places.
  void wait() {
    if (!waits_) return;
    const std::span told(told_.data(), results_);
    for (const Told& one : told) cells_.copy(one.cell.here, one.cell.there, one.bytes);
    cells_.wait();
    for (const Told& one : told) std::memcpy(one.to, one.cell.here, one.bytes);
  }

 private:
  struct Told {
    std::byte* to = nullptr;
    ToldCells::Cell cell;
    std::size_t bytes = 0;
  };

  std::byte* place_of(std::byte* place, std::size_t bytes) {
    if (bytes == 0) return nullptr;
    const MemoryKind kind = cells_.kind_of(place);
    waits_ = waits_ || kind != MemoryKind::Cuda;
    if (kind != MemoryKind::Host) return place;
    const ToldCells::Cell cell = cell_with(place, bytes);
    told_.at(results_++) = {place, cell, bytes};
    return cell.there;
  }

  /// Takes a cell with these bytes.
  ToldCells::Cell cell_with(const std::byte* from, std::size_t bytes) {
    const ToldCells::Cell cell = cells_.take(bytes);
    std::memcpy(cell.here, from, bytes);
    cells_.copy(cell.there, cell.here, bytes);
    return cell;
  }

  ToldCells& cells_;
  bool waits_ = false;
  std::array<Told, 2> told_{};
  std::size_t results_ = 0;
};

}  // namespace lacuna::kernels
