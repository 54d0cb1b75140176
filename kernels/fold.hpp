#pragma once

#include <Kokkos_Macros.hpp>
#include <cstddef>

#include "kernels/space.hpp"

/// Sums and the like whose bits are the same in every space.
namespace lacuna::kernels {

/// *result = what terms(i) are together, for i in [0, count): the terms are joined by Terms::join, to which 0 adds
/// nothing. One team joins them in pieces, and the pieces in order. It is for short arrays.
template <class Terms>
struct FoldKernel {
  static constexpr std::size_t lanes = 16;  // partial sums of a piece, so that the loop vectorises in a fixed order
  static constexpr std::size_t piece = 256, pieces_at_once = 256;
  static constexpr std::size_t scratch_bytes = pieces_at_once * sizeof(double);

  Terms terms;
  std::size_t count;
  double* result;

  KOKKOS_INLINE_FUNCTION void operator()(const Space::Team& team) const {
    auto* const sums = team.scratch<double>();
    const FoldKernel fold = *this;
    const std::size_t pieces = (count + piece - 1) / piece;
    team.once([=] { *fold.result = 0; });
    for (std::size_t first = 0; first < pieces; first += pieces_at_once) {
      const std::size_t some = pieces - first < pieces_at_once ? pieces - first : pieces_at_once;
      team.each(some, [=](std::size_t i) { sums[i] = fold.of_piece(first + i); });
      team.barrier();
      team.once([=] {
        for (std::size_t i = 0; i < some; ++i) *fold.result = Terms::join(*fold.result, sums[i]);
      });
      team.barrier();
    }
  }

  KOKKOS_INLINE_FUNCTION double of_piece(std::size_t i) const {
    const std::size_t first = i * piece, length = count - first < piece ? count - first : piece;
    double sums[lanes] = {};
    const std::size_t whole = length / lanes * lanes;
    for (std::size_t j = 0; j < whole; j += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] = Terms::join(sums[lane], terms(first + j + lane));
    }
    for (std::size_t j = whole; j < length; ++j) sums[j - whole] = Terms::join(sums[j - whole], terms(first + j));
    double all = 0;
    for (double one : sums) all = Terms::join(all, one);
    return all;
  }
};

template <class Terms>
void fold(const Terms& terms, std::size_t count, double* result) {
  Space::for_teams(1, FoldKernel<Terms>::scratch_bytes, FoldKernel<Terms>{terms, count, result});
}

}  // namespace lacuna::kernels
