#pragma once

#include <algorithm>

#include "algorithms/phases/sparse_kernels.hpp"

/// Finds out where the entries of all ranks lie, so that the ranks can cut the places into ranges that hold about
/// equally many entries. First the ranks add up a histogram. It says how many entries lie in each bin of the places,
/// and by how many at most they differ there from evenly spread entries. A cut within a bin is off by no more than
/// that. Where it could be off by too much, the ranks send each other samples of their places in that bin.
namespace lacuna::sparse {

/// Returns how many words a histogram has. First come the entries of each bin, then by how much each bin differs from
/// evenly spread entries.
std::size_t words_of_histogram(const PartView& part);
/// Returns the most words, of 32 bits each, that a rank's samples may have.
std::size_t most_words_of_samples(const PartView& part);

/// The histogram of the entries of all ranks together, which is equal on all ranks.
class Histogram {
 public:
  struct Bin {
    std::size_t number = 0;
    std::uint64_t before = 0;        ///< entries in earlier bins
    std::uint64_t entries = 0;       ///< entries of all ranks together
    std::uint64_t skew = 0;          ///< a cut that takes entries as evenly spread is off by so many at most
    std::size_t begin = 0, end = 0;  ///< places of the bin

    std::size_t length() const { return end - begin; }
  };

  Histogram(const Extent& words, const PartView& part);

  /// Returns ok, or what is wrong with counts that these ranks can't have.
  Status check() const;
  std::uint64_t entries() const { return entries_; }
  Bin first() const { return bin(0, 0); }
  /// Returns the bin in which the entry lies that has `wanted` - 1 entries before it. The search begins at bin `from`.
  Bin with(Bin from, std::uint64_t wanted) const;

  /// Returns how many samples each rank takes in a bin, or 0 if none are needed. With so many samples, a cut of this
  /// bin is off by at most a 20th of what a range holds. This is certain for up to 32 ranks. With more ranks it holds
  /// as long as not all errors go to the same side.
  std::size_t samples_in(const Bin& bin) const;
  /// Calls visit(bin, samples) in order, for each bin in which a range ends and samples are needed.
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
/// many of them as are asked for, at even distances. Each rank begins at another share of the distance, so that the
/// samples of ranks with the same entries do not fall together.
class BinSamples {
 public:
  /// The samples of the bin begin at this word of each rank's message.
  BinSamples(const Histogram::Bin& bin, std::size_t samples, const Reads& messages, std::size_t word,
             const PartView& part)
      : bin_(bin), samples_(samples), messages_(messages), word_(word), part_(part) {}

  /// Writes this rank's samples to `words`. `places` are those of its entries.
  static void take(const KernelCall& call, const Histogram::Bin& bin, std::size_t samples,
                   std::span<const std::uint32_t> places, std::uint32_t* words);

  /// Returns ok, or which rank can't have such entries.
  Status check() const;
  /// Returns the place before which about so many of the bin's entries lie.
  std::size_t place_after(std::uint64_t entries) const;

 private:
  std::span<const std::uint32_t> words_of(Rank rank) const;
  /// Returns how many entries lie before a place, multiplied by 2 P and by the number of samples.
  std::uint64_t scaled_before(std::size_t place) const;

  const Histogram::Bin& bin_;
  std::size_t samples_;
  const Reads& messages_;
  std::size_t word_;
  const PartView& part_;
};

}  // namespace lacuna::sparse
