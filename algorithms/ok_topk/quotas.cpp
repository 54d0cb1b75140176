#include "algorithms/ok_topk/quotas.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "algorithms/phases/not_finite.hpp"
#include "kernels/elements.hpp"

namespace lacuna::ok {
namespace {

constexpr std::size_t steps_of_a_mean = 4;  // quarters of k/P

/// Returns how many bits of a magnitude an offer leaves out.
int bits_left_out(Dtype dtype) { return dtype == Dtype::F64 ? 32 : 0; }

/// Returns what an offer says of an infinity.
std::uint32_t magnitude_of_infinity(Dtype dtype) {
  return static_cast<std::uint32_t>(kernels::magnitude_of(dtype, std::numeric_limits<double>::infinity()) >>
                                    bits_left_out(dtype));
}

/// The next step of a rank. Its bits are a number by which steps are ordered: larger numbers are taken first.
class Next {
 public:
  Next(std::uint32_t magnitude, Rank rank)
      : bits_(std::uint64_t{magnitude} << 32 | ~static_cast<std::uint32_t>(rank)) {}
  explicit Next(std::uint64_t bits) : bits_(bits) {}

  std::uint64_t bits() const { return bits_; }
  std::uint32_t magnitude() const { return static_cast<std::uint32_t>(bits_ >> 32); }
  Rank rank() const { return static_cast<Rank>(~static_cast<std::uint32_t>(bits_)); }

 private:
  std::uint64_t bits_;
};

}  // namespace

std::size_t end_of_step(std::size_t begin, std::size_t k, Rank size) {
  const std::size_t parts = steps_of_a_mean * static_cast<std::size_t>(size), quarter = (k + parts - 1) / parts;
  const std::size_t length = begin < 2 * steps_of_a_mean * quarter ? quarter : begin / 4;
  return std::min(begin + length, k);
}

std::size_t words_of_offer(std::size_t k, Rank size) {
  std::size_t words = 1;
  for (std::size_t end = 0; end < k; end = end_of_step(end, k, size)) ++words;
  return words;
}

std::span<const std::uint32_t> Offers::of(Rank rank) const {
  const std::size_t each = words.size() / static_cast<std::size_t>(size);
  return words.subspan(static_cast<std::size_t>(rank) * each, each);
}

std::uint32_t share_out(const Offers& offers, std::span<std::uint64_t> quotas, std::span<std::uint64_t> workspace) {
  const auto ranks = static_cast<std::size_t>(offers.size);
  const std::span<std::uint64_t> heap = workspace.first(ranks), steps = workspace.subspan(ranks, ranks);
  std::size_t waiting = 0, left = offers.k;
  std::uint32_t last = 0;
  const auto push = [&](Rank rank, std::size_t step) {
    steps[static_cast<std::size_t>(rank)] = step;
    heap[waiting++] = Next(offers.of(rank)[1 + step], rank).bits();
    std::push_heap(heap.begin(), heap.begin() + static_cast<std::ptrdiff_t>(waiting));
  };
  for (Rank rank = 0; rank < offers.size; ++rank) {
    quotas[static_cast<std::size_t>(rank)] = 0;
    if (offers.of(rank)[0] > 0 && left > 0) push(rank, 0);
  }
  while (waiting > 0 && left > 0) {
    std::pop_heap(heap.begin(), heap.begin() + static_cast<std::ptrdiff_t>(waiting));
    const Next next(heap[--waiting]);
    const auto i = static_cast<std::size_t>(next.rank());
    const std::size_t sums = offers.of(next.rank())[0], begin = quotas[i];
    const std::size_t taken = std::min(std::min(end_of_step(begin, offers.k, offers.size), sums) - begin, left);
    quotas[i] += taken;
    left -= taken;
    last = next.magnitude();
    if (quotas[i] < sums && left > 0) push(next.rank(), steps[i] + 1);
  }
  return last;
}

void make_offer(const kernels::Backend& backend, kernels::Source values, std::span<std::uint32_t> sample,
                std::span<std::uint32_t> offer, std::size_t k, Rank size) {
  const std::size_t count = values.count, stride = (count + most_sampled - 1) / most_sampled;
  std::fill(offer.begin(), offer.end(), 0);
  offer[0] = static_cast<std::uint32_t>(count);
  if (count == 0) return;
  const std::span<std::uint32_t> magnitudes = sample.first((count + stride - 1) / stride);
  backend.sample_magnitudes(values, stride, magnitudes);
  std::sort(magnitudes.begin(), magnitudes.end(), std::greater<>());
  std::size_t end = 0;
  for (std::size_t step = 1; step < offer.size() && end < count; ++step) {
    end = std::min(end_of_step(end, k, size), count);
    offer[step] = magnitudes[(end - 1) / stride];
  }
  if (count_not_finite(backend, values) > 0) offer[1] = std::max(offer[1], magnitude_of_infinity(values.dtype));
}

double number_of_offered(Dtype dtype, std::uint32_t magnitude) {
  return kernels::number_of_magnitude(dtype, std::uint64_t{magnitude} << bits_left_out(dtype));
}

}  // namespace lacuna::ok
