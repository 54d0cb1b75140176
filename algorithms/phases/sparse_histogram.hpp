#pragma once

#include <algorithm>

#include "algorithms/phases/sparse_kernels.hpp"

/// Where the entries of all ranks lie, as far as all ranks need to know it to cut the places into ranges that hold as
/// many entries each. First all add up a histogram: how many entries lie in each bin of the places, and by how many at
/// most they differ there from evenly spread ones. A cut within a bin is off by no more than that. Where it could be
/// off by too much, the ranks tell each other samples of their places in that bin.
namespace lacuna::sparse {

/// Words of a histogram of `bins` bins: the entries of each, then what each differs by.
std::size_t words_of_histogram(const PartView& part);
/// The most words that a rank's samples may have, 32 bits each.
std::size_t most_words_of_samples(const PartView& part);

/// The histogram of the entries of all ranks together, which is equal on all ranks.
class Histogram {
 public:
  struct Bin {
    std::size_t number = 0;
    std::uint64_t before = 0;        ///< entries in the bins before it
    std::uint64_t entries = 0;       ///< of all ranks together
    std::uint64_t skew = 0;          ///< a cut within it, as if they were evenly spread, is off by so many at most
    std::size_t begin = 0, end = 0;  ///< its places

    std::size_t length() const { return end - begin; }
  };

  Histogram(const Extent& words, const PartView& part);

  /// Ok, or what is wrong with counts that these ranks can't have.
  Status check() const;
  std::uint64_t entries() const { return entries_; }
  Bin first() const { return bin(0, 0); }
  /// The bin, from this one on, in which the entry lies that has `wanted` - 1 before it.
  Bin with(Bin from, std::uint64_t wanted) const;

  /// How many samples each rank takes in a bin, 0: none are needed. Of so many samples a cut of this bin is off by a
  /// 20th of what a range holds at most: exactly up to 32 ranks, of more as far as not all err to the same side.
  std::size_t samples_in(const Bin& bin) const;
  /// visit(bin, samples) for each bin in which samples are needed, as a range ends there, in order.
  template <class Visit>
  void each_sampled(const Visit& visit) const {
    std::size_t next = 0;
    Bin bin = first();
    for (std::size_t i = 1; i < ranks_; ++i) {
      const std::uint64_t wanted = boundary(i, entries_, ranks_);
      bin = with(bin, wanted);
      const bool within = bin.number >= next && wanted < bin.before + bin.entries;
      const std::size_t samples = within ? samples_in(bin) : 0;
      if (samples == 0) continue;
      visit(bin, samples);
      next = bin.number + 1;
    }
  }

 private:
  Bin bin(std::size_t number, std::uint64_t before) const;

  const std::uint64_t* words_;
  std::size_t bins_, places_, ranks_;
  std::uint64_t entries_ = 0;
};

/// Samples of one bin of a histogram, of all ranks. Rank r says how many entries it has there, then the places of as
/// many of them as are asked for, at even distances: the distance is shared out among the ranks, so that those of ranks
/// that have the same entries do not fall together.
class BinSamples {
 public:
  /// In the messages of all ranks, from this word on.
  BinSamples(const Histogram::Bin& bin, std::size_t samples, const Reads& messages, std::size_t word,
             const PartView& part)
      : bin_(bin), samples_(samples), messages_(messages), word_(word), part_(part) {}

  /// Those of this rank, of the places of its entries.
  static void take(const KernelCall& call, const Histogram::Bin& bin, std::size_t samples,
                   std::span<const std::uint32_t> places, std::uint32_t* words);

  /// Ok, or which rank can't have such entries.
  Status check() const;
  /// The place before which about so many of the bin's entries lie.
  std::size_t place_after(std::uint64_t entries) const;

 private:
  std::span<const std::uint32_t> words_of(Rank rank) const;
  /// Entries that lie before a place, times 2 P and the number of samples.
  std::uint64_t scaled_before(std::size_t place) const;

  const Histogram::Bin& bin_;
  std::size_t samples_;
  const Reads& messages_;
  std::size_t word_;
  const PartView& part_;
};

}  // namespace lacuna::sparse
