#pragma once

#include <cstddef>
#include <cstdint>

namespace lacuna {

/// A reduction of the program's own, for Reduction::Own on elements of opaque bytes (Dtype::Bytes1 .. Bytes64): for
/// i in [0, count), inout[i] becomes the reduction of inout[i] and in[i], where each element has the bytes of its
/// dtype. The two arrays are disjoint, aligned to 64 bytes, and belong to lacuna. `context` is that of the reduction.
///
/// It must be associative and commutative, because the algorithm chooses the order. For the same bits on each run it
/// should be so exactly. All algorithms apply it in an order that the data do not change.
///
/// Thread rule: it runs inside of calls of lacuna, on the thread that makes progress: a thread of the program that
/// waits or posts, or lacuna's own (Progress::Thread). Several threads may run it at the same time if the program has
/// several communicators or threads. It must not call lacuna, throw or wait for another rank, and should be quick:
/// messages of this rank may stand still meanwhile. It can't fail. A program that needs errors keeps them in the
/// element.
using OwnFunction = void (*)(void* context, const void* in, void* inout, std::size_t count);

struct OwnReduction {
  OwnFunction function = nullptr;
  void* context = nullptr;  ///< may differ between ranks
  /// Says which reduction it is. All ranks must give the same number; others are a Mismatch. Programs with several
  /// reductions give each its own.
  std::uint64_t id = 0;
};

/// The bytes of the arrays that a function gets at a time, at most.
inline constexpr std::size_t own_block_bytes = 4096;

}  // namespace lacuna
