#include <cmath>

#include "kernels/search.hpp"
#include "kernels/space_backend.hpp"
#include "runtime/values/philox.hpp"

namespace lacuna::kernels {
namespace {

/// The layout of the workspace.
struct Workspace {
  Search search, lower, upper;
  std::uint32_t counts[all_bins];
  static constexpr std::size_t sample_offset = 12 * 1024, sample_bytes = 48 * 1024;

  static Workspace* of(std::byte* memory) { return reinterpret_cast<Workspace*>(memory); }
  std::byte* sample() { return reinterpret_cast<std::byte*>(this) + sample_offset; }
};
static_assert(sizeof(Workspace) <= Workspace::sample_offset);
static_assert(Workspace::sample_offset + Workspace::sample_bytes <= Backend::workspace_bytes());

/// Takes element i of a sample: one of `step` consecutive elements, at a mixed place among them.
template <class T>
struct SampleKernel {
  const std::byte* from;
  std::size_t step;
  std::byte* sample;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    std::uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 31)) * 0xbf58476d1ce4e5b9u >> 32;
    store<T>(sample, i, load<T>(from, i * step + (mixed * step >> 32)));
  }
};

/// Takes elements of a sample that a Sampler draws, `together` of them for each i. All their places are drawn before
/// the first element is read, so that the processor waits for all their cache misses at once.
template <class T>
struct DrawKernel {
  static constexpr std::size_t together = 16;

  const std::byte* from;
  std::uint32_t count;
  Sampler sampler;
  std::byte* room;
  std::size_t samples;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const std::size_t first = i * together, left = samples - first, length = left < together ? left : together;
    std::uint32_t places[together];
    for (std::size_t j = 0; j < length; ++j) {
      places[j] = bounded_draw(sampler, static_cast<std::uint32_t>(first + j), count);
    }
    for (std::size_t j = 0; j < length; ++j) store<T>(room, first + j, load<T>(from, places[j]));
  }
};

/// Writes what a search has found. Its ties stand for multiplier / divisor times as many.
struct ResultKernel {
  const Search* search;
  std::uint64_t multiplier;
  std::uint64_t divisor;
  Cut* cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t) const {
    *cut = {search->cut.above, search->cut.ties * multiplier / divisor};
  }
};

struct FixedKernel {
  Cut value;
  Cut* cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t) const { *cut = value; }
};

/// Writes a cut that takes nothing, or everything.
void fix(Cut value, Cut* cut) { Space::for_each(1, FixedKernel{value, cut}); }
constexpr Cut nothing = {.above = ~std::uint64_t{0}, .ties = 0};
constexpr Cut everything = {};

/// Begins `selection` with bounds from a sample: the magnitudes four standard deviations above and below the rank in
/// the sample that k stands for. The bounds are wrong once in some ten thousand times.
template <class T>
void guess(const Selection<T>& selection, Workspace* space) {
  constexpr std::size_t samples = Workspace::sample_bytes / sizeof(T);
  const std::size_t count = selection.from.count;
  Space::for_each(samples, SampleKernel<T>{selection.from.data, count / samples, space->sample()});
  const double share = static_cast<double>(selection.k) / static_cast<double>(count);
  const double rank = share * samples, off = 4 * std::sqrt(rank * (1 - share)) + 2;
  const auto lower_rank = static_cast<std::uint64_t>(std::ceil(rank + off));
  const auto upper_rank = static_cast<std::uint64_t>(std::max(0.0, rank - off));
  const Magnitudes<T> sample{space->sample(), samples};
  Selection<T>{sample, std::min<std::uint64_t>(lower_rank, samples), &space->lower, space->counts}.run();
  if (upper_rank != 0) Selection<T>{sample, upper_rank, &space->upper, space->counts}.run();
  selection.begin();
  Space::for_each(
      1, GuessKernel<T>{selection.search, &space->lower, upper_rank != 0 ? &space->upper : nullptr, selection.k});
}

/// An array that is less than so many times as long as the sample is searched without a guess.
constexpr std::size_t worth_a_guess = 64;

}  // namespace

void SpaceBackend::largest(Source from, std::uint64_t k, std::byte* workspace, Cut* cut) const {
  if (k == 0 || k >= from.count) return fix(k == 0 ? nothing : everything, cut);
  with_floating_element(from.dtype, [&]<class T>(Element<T>) {
    auto* const space = Workspace::of(workspace);
    const Selection<T> selection{{from.data, from.count}, k, &space->search, space->counts};
    if (from.count * sizeof(T) < worth_a_guess * Workspace::sample_bytes) {
      selection.run();
    } else {
      guess(selection, space);
      for (unsigned i = 0; i < passes<T> + 1; ++i) selection.pass();
    }
    Space::for_each(1, ResultKernel{&space->search, 1, 1, cut});
  });
}

void SpaceBackend::estimate(Source from, std::uint64_t k, std::size_t samples, const Sampler& sampler, std::byte* room,
                            std::byte* workspace, Cut* cut) const {
  if (k == 0 || k >= from.count) return fix(k == 0 ? nothing : everything, cut);
  with_floating_element(from.dtype, [&]<class T>(Element<T>) {
    Space::for_each((samples + DrawKernel<T>::together - 1) / DrawKernel<T>::together,
                    DrawKernel<T>{from.data, static_cast<std::uint32_t>(from.count), sampler, room, samples});
    const std::uint64_t share = std::max<std::uint64_t>(1, (k * samples + from.count / 2) / from.count);
    auto* const space = Workspace::of(workspace);
    if (share >= samples) return fix(everything, cut);
    Selection<T>{{room, samples}, share, &space->search, space->counts}.run();
    Space::for_each(1, ResultKernel{&space->search, from.count, samples, cut});
  });
}

}  // namespace lacuna::kernels
