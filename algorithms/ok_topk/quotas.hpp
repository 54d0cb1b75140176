#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/values/call.hpp"

/// How many of its sums each rank brings to the result, where no exact selection over all sums tells it.
///
/// A rank's sums, the largest first, are cut into *steps*. Its *offer* says how many sums it has, and how large the
/// last one of each step is. From the offers of all ranks the steps are taken in the order of these magnitudes, until
/// there are k sums. So many sums of a rank are its *quota*.
namespace lacuna::ok {

/// How many sums there are up to the end of the step that begins after `begin` of them: a quarter of k/P more, or from
/// 2k/P on a quarter of all before it, and k at most.
std::size_t end_of_step(std::size_t begin, std::size_t k, Rank size);

/// Numbers in an offer: how many sums the rank has, and the magnitude of the last one of each step up to k of them.
/// Steps beyond its last sum mean nothing.
std::size_t words_of_offer(std::size_t k, Rank size);

/// The offers of all ranks, one behind the other.
struct Offers {
  std::span<const std::uint32_t> words;
  std::size_t k = 0;
  Rank size = 1;

  std::span<const std::uint32_t> of(Rank rank) const;
};

/// Writes the quotas of all ranks. They add up to k, or to all sums where these are fewer; the last step that is taken
/// may count in part. Of steps with equal magnitudes, that of the lower rank comes first. Returns the magnitude of the
/// last one. `workspace` has room for two numbers of each rank.
std::uint32_t share_out(const Offers& offers, std::span<std::uint64_t> quotas, std::span<std::uint64_t> workspace);

/// Writes an offer of sums of these values, none of which is 0. Of many values it looks at a sample, spread evenly; the
/// magnitudes are then estimates. `sample` has room for most_sampled numbers.
void make_offer(Dtype dtype, const std::byte* values, std::size_t count, std::span<std::uint32_t> sample,
                std::span<std::uint32_t> offer, std::size_t k, Rank size);
inline constexpr std::size_t most_sampled = 8192;

/// What a magnitude of an offer stands for. It has 32 bits, of an f64 the upper ones.
double number_of_offered(Dtype dtype, std::uint32_t magnitude);

}  // namespace lacuna::ok
