#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/backend.hpp"
#include "runtime/values/call.hpp"

/// Decides how many of its sums each rank brings to the result, in runs without an exact selection over all sums.
///
/// A rank's sums, the largest first, are cut into *steps*. Its *offer* says how many sums it has, and how large the
/// last one of each step is. From the offers of all ranks the steps are taken in the order of these magnitudes, until
/// there are k sums. The number of sums that are taken of a rank is its *quota*.
namespace lacuna::ok {

/// Returns after how many sums a step ends that begins after the first `begin` sums of a rank. A step has a quarter of
/// k/P sums. If 2k/P sums or more stand before it, it has a quarter of these instead. No step ends after the k-th sum.
std::size_t end_of_step(std::size_t begin, std::size_t k, Rank size);

/// Returns how many numbers an offer has. One says how many sums the rank has. One for each step up to the k-th sum is
/// the step's last magnitude. The numbers of steps that begin after the rank's last sum mean nothing.
std::size_t words_of_offer(std::size_t k, Rank size);

/// The offers of all ranks, one after the other.
struct Offers {
  std::span<const std::uint32_t> words;
  std::size_t k = 0;
  Rank size = 1;

  std::span<const std::uint32_t> of(Rank rank) const;
};

/// Writes the quotas of all ranks. They add up to k, or to the number of all sums if that is less. The last step may be
/// taken in part. Of steps with equal magnitudes, that of the lower rank comes first. Returns the magnitude of the last
/// step that is taken. `workspace` has room for two numbers of each rank.
std::uint32_t share_out(const Offers& offers, std::span<std::uint64_t> quotas, std::span<std::uint64_t> workspace);

/// Writes the offer of a rank whose sums are these values, none of which is 0. Of more than most_sampled values it
/// reads a sample that is spread evenly, and the magnitudes are estimates. If a value is not finite, the first step
/// says so, whatever its last magnitude is, so that the result tells it. `sample` has room for most_sampled numbers.
void make_offer(const kernels::Backend& backend, kernels::Source values, std::span<std::uint32_t> sample,
                std::span<std::uint32_t> offer, std::size_t k, Rank size);
inline constexpr std::size_t most_sampled = 8192;

/// Returns the number that a magnitude of an offer stands for. An offer holds 32 bits of a magnitude: the upper ones of
/// an f64.
double number_of_offered(Dtype dtype, std::uint32_t magnitude);

}  // namespace lacuna::ok
