#include "algorithms/phases/sparse_histogram.hpp"

#include <fmt/format.h>

#include "runtime/values/count_of.hpp"

namespace lacuna::sparse {
namespace {

constexpr std::size_t samples_of_range = 20;       // for each rank whose sample may be off
constexpr std::size_t most_ranks_counted = 32;     // with more ranks, the errors do not all go to the same side
constexpr std::size_t least_entries_of_rank = 10;  // for each other rank; fewer entries have no more bytes than samples

std::size_t bins_of(const PartView& part) { return static_cast<std::size_t>(form_of(part).bins); }
std::size_t samples_of_all(std::size_t ranks) { return samples_of_range * std::min(ranks, most_ranks_counted); }

}  // namespace

std::size_t words_of_histogram(const PartView& part) { return 2 * bins_of(part); }

/// Samples are taken in at most P-1 bins, and each bin's number of samples is rounded up.
std::size_t most_words_of_samples(const PartView& part) {
  return samples_of_all(ranks_of(part)) + 2 * (ranks_of(part) - 1);
}

Histogram::Histogram(const Extent& words, const PartView& part)
    : words_(reinterpret_cast<const std::uint64_t*>(words.data)),
      bins_(bins_of(part)),
      places_(places_of(part)),
      ranks_(ranks_of(part)) {
  for (std::size_t i = 0; i < bins_; ++i) entries_ += words_[i];
}

Histogram::Bin Histogram::bin(std::size_t number, std::uint64_t before) const {
  const auto border = [&](std::size_t i) { return (i * places_ + bins_ - 1) / bins_; };
  return {.number = number,
          .before = before,
          .entries = words_[number],
          .skew = words_[bins_ + number],
          .begin = border(number),
          .end = border(number + 1)};
}

Status Histogram::check() const {
  for (std::size_t i = 0; i < bins_; ++i) {
    const Bin one = bin(i, 0);
    if (one.entries <= one.length() * ranks_ && one.skew <= one.entries) continue;
    return {Code::Mismatch,
            fmt::format("{} in a bin of {}, of which {} lie unevenly, can't have been selected by {}",
                        count_of(static_cast<std::int64_t>(one.entries), "entry"), count_of(one.length(), "place"),
                        static_cast<std::int64_t>(one.skew), count_of(ranks_, "rank"))};
  }
  return {};
}

Histogram::Bin Histogram::with(Bin from, std::uint64_t wanted) const {
  while (from.before + from.entries < wanted) from = bin(from.number + 1, from.before + from.entries);
  return from;
}

std::size_t Histogram::samples_in(const Bin& bin) const {
  if (entries_ < least_entries_of_rank * ranks_ * (ranks_ - 1)) return 0;
  if (bin.skew * samples_of_range * ranks_ <= entries_) return 0;
  const std::uint64_t share = (samples_of_all(ranks_) * bin.entries + entries_ - 1) / entries_;
  return std::min<std::size_t>(share, bin.length());
}

std::span<const std::uint32_t> BinSamples::words_of(Rank rank) const {
  const Extent& message = messages_[static_cast<std::size_t>(rank)];
  return {reinterpret_cast<const std::uint32_t*>(message.data) + word_, 1 + samples_};
}

void BinSamples::take(const KernelCall& call, const Histogram::Bin& bin, std::size_t samples,
                      std::span<const std::uint32_t> places, std::uint32_t* words) {
  const kernels::EvenSample of{.begin = bin.begin,
                               .end = bin.end,
                               .samples = samples,
                               .share = 2 * static_cast<std::size_t>(call.part.position) + 1,
                               .shares = 2 * ranks_of(call.part)};
  call.backend.sample_places(places, of, words);
}

Status BinSamples::check() const {
  std::uint64_t entries = 0;
  for (Rank rank = 0; rank < part_.size; ++rank) {
    const std::span<const std::uint32_t> words = words_of(rank), places = words.subspan(1);
    entries += words[0];
    const bool sound = words[0] <= bin_.length() && places.front() >= bin_.begin && places.back() < bin_.end &&
                       std::is_sorted(places.begin(), places.end());
    if (sound) continue;
    return {Code::Mismatch,
            fmt::format("rank {} says that it has {} in the places from {} to {}, among them "
                        "{} and {}",
                        rank, count_of(words[0], "entry"), bin_.begin, bin_.end - 1, places.front(), places.back())};
  }
  if (entries == bin_.entries) return {};
  return {Code::Mismatch,
          fmt::format("the ranks say that they have {} in the places from {} to {}, and by the histogram {}",
                      count_of(entries, "entry"), bin_.begin, bin_.end - 1, bin_.entries)};
}

/// Where c of a rank's s samples lie before a place, about (c - 1/2 + (r + 1/2) / P) / s of its entries do.
std::uint64_t BinSamples::scaled_before(std::size_t place) const {
  const auto parts = 2 * static_cast<std::int64_t>(part_.size);
  std::uint64_t all = 0;
  for (Rank rank = 0; rank < part_.size; ++rank) {
    const std::span<const std::uint32_t> words = words_of(rank), places = words.subspan(1);
    const auto before = std::lower_bound(places.begin(), places.end(), place) - places.begin();
    const std::int64_t share = parts * before - part_.size + 2 * std::int64_t{rank} + 1;
    all += static_cast<std::uint64_t>(std::max<std::int64_t>(share, 0)) * words[0];
  }
  return all;
}

std::size_t BinSamples::place_after(std::uint64_t entries) const {
  const std::uint64_t wanted = entries * 2 * ranks_of(part_) * samples_;
  std::size_t low = bin_.begin, high = bin_.end;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const bool is_before = scaled_before(middle) < wanted;
    low = is_before ? middle + 1 : low;
    high = is_before ? high : middle;
  }
  if (low == bin_.begin) return low;
  const std::uint64_t less = scaled_before(low - 1), more = scaled_before(low);
  return more > wanted && wanted - less < more - wanted ? low - 1 : low;
}

}  // namespace lacuna::sparse
