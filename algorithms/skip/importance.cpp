#include "algorithms/skip/importance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "kernels/elements.hpp"
#include "runtime/values/method_state.hpp"
#include "runtime/values/region.hpp"

namespace lacuna {
namespace {

constexpr std::string_view saved_kind = "SkipImportance", saved_array = "importance";
constexpr std::size_t words_of_all = 4, words_of_segment = 6;  // but for its histogram
constexpr std::size_t bytes_around = 256;                      // at most, of a saved state with one array

std::size_t bin_of(float value) { return (std::bit_cast<std::uint32_t>(value) & 0x7fffffffu) >> 21; }

/// Words one behind the other.
class Writer {
 public:
  void put(std::uint64_t word) {
    const auto bytes = std::as_bytes(std::span(&word, 1));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> all;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  /// 0 beyond the end, which is then remembered.
  std::uint64_t take() {
    std::uint64_t word = 0;
    if (bytes_.size() < sizeof word) {
      whole_ = false;
      return 0;
    }
    std::memcpy(&word, bytes_.data(), sizeof word);
    bytes_ = bytes_.subspan(sizeof word);
    return word;
  }
  bool is_whole() const { return whole_; }
  bool is_at_end() const { return whole_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool whole_ = true;
};

}  // namespace

std::vector<SkipImportance::Segment> SkipImportance::segments() const {
  const std::lock_guard lock(mutex_);
  std::vector<Segment> all;
  for (const auto& [key, entry] : entries_) all.push_back(entry.segment);
  return all;
}

std::vector<std::byte> SkipImportance::save() const {
  const std::lock_guard lock(mutex_);
  Writer to;
  for (std::uint64_t word : {options_.every, std::bit_cast<std::uint64_t>(options_.threshold),
                             std::uint64_t{options_.samples}, std::uint64_t{entries_.size()}}) {
    to.put(word);
  }
  for (const auto& [key, entry] : entries_) {
    const Segment& segment = entry.segment;
    const auto filled = std::count_if(entry.histogram.begin(), entry.histogram.end(), [](auto n) { return n > 0; });
    for (std::uint64_t word :
         {key, segment.runs, segment.count, std::bit_cast<std::uint64_t>(segment.share),
          std::uint64_t{segment.important} | std::uint64_t{segment.measured} << 1 | std::uint64_t{entry.fresh} << 2,
          static_cast<std::uint64_t>(filled)}) {
      to.put(word);
    }
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if (entry.histogram[bin] > 0) to.put(std::uint64_t{bin} << 32 | entry.histogram[bin]);
    }
  }
  MethodState saved;
  saved.arrays.push_back(
      {.name = std::string(saved_array), .dtype = Dtype::I64, .own = false, .bytes = std::move(to.all)});
  return *saved.save(saved_kind);
}

std::size_t SkipImportance::most_saved(std::size_t segments) {
  return bytes_around + sizeof(std::uint64_t) * (words_of_all + segments * (words_of_segment + bins));
}

Status SkipImportance::restore(std::span<const std::byte> saved) {
  MethodState state;
  if (Status whole = state.restore(saved, saved_kind); !whole) return whole;
  const auto damaged = [] { return Status(Code::InvalidArgument, "this is no saved SkipImportance"); };
  const StateArray* array = state.find(saved_array);
  if (!array) return damaged();
  Reader from(array->bytes);
  Options options;
  options.every = from.take();
  options.threshold = std::bit_cast<double>(from.take());
  options.samples = from.take();
  if (options.every != options_.every || options.threshold != options_.threshold ||
      options.samples != options_.samples) {
    return {Code::InvalidArgument,
            fmt::format("the saved SkipImportance has every {}, threshold {}, samples {}; this one {}, {}, {}",
                        options.every, options.threshold, options.samples, options_.every, options_.threshold,
                        options_.samples)};
  }
  std::map<std::uint64_t, Entry> entries;
  for (std::uint64_t left = from.take(); left > 0 && from.is_whole(); --left) {
    Entry entry;
    entry.segment.key = from.take();
    entry.segment.runs = from.take();
    entry.segment.count = from.take();
    entry.segment.share = std::bit_cast<double>(from.take());
    const std::uint64_t flags = from.take();
    entry.segment.important = flags & 1;
    entry.segment.measured = flags & 2;
    entry.fresh = flags & 4;
    for (std::uint64_t filled = from.take(); filled > 0 && from.is_whole(); --filled) {
      const std::uint64_t word = from.take();
      if (word >> 32 >= bins) return damaged();
      entry.histogram[word >> 32] = static_cast<std::uint32_t>(word);
    }
    entries[entry.segment.key] = entry;
  }
  if (!from.is_at_end()) return damaged();
  const std::lock_guard lock(mutex_);
  entries_ = std::move(entries);
  return {};
}

Status SkipImportance::check() const {
  const auto refuse = [](std::string text) { return Status(Code::InvalidArgument, std::move(text)); };
  if (options_.every == 0) return refuse("skip.importance: every is 0, must be at least 1");
  if (options_.samples == 0) return refuse("skip.importance: samples is 0, must be at least 1");
  if (options_.threshold >= 0 && options_.threshold <= 1) return {};
  return refuse(fmt::format("skip.importance: threshold is {}, must be 0 .. 1", options_.threshold));
}

SkipImportance::Next SkipImportance::next(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.segment.runs % options_.every == 0) return Next::Measure;
  if (found->second.fresh) decide();
  return found->second.segment.important ? Next::Protect : Next::Skip;
}

Status SkipImportance::ready(std::uint64_t key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || !(found->second.measuring || found->second.fresh)) return {};
  for (const auto& [other, entry] : entries_) {
    if (entry.measuring) {
      return {Code::Busy, fmt::format("what segment {} does depends on a run of segment {} that measures and has not "
                                      "ended: wait for it first",
                                      key, other)};
    }
  }
  return {};
}

void SkipImportance::started(std::uint64_t key, const void* run) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[key];
  entry.segment.key = key;
  if (entry.segment.runs++ % options_.every != 0) return;
  entry.measuring = run;
  entry.taken = {};
  entry.taken_of = 0;
}

void SkipImportance::measured(std::uint64_t key, const void* run, Dtype dtype, const std::byte* data,
                              std::size_t count) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[key];
  if (entry.measuring != run) return;
  entry.taken = {};
  entry.taken_of = count;
  const std::size_t samples = std::min(count, options_.samples);
  for (std::size_t i = 0; i < samples; ++i) {
    ++entry.taken[bin_of(static_cast<float>(kernels::load_number(dtype, data, boundary(i, count, samples))))];
  }
}

void SkipImportance::ended(std::uint64_t key, const void* run, bool well) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[key];
  if (entry.measuring != run) return;
  entry.measuring = nullptr;
  if (!well) return;
  entry.histogram = entry.taken;
  entry.segment.count = entry.taken_of;
  entry.fresh = true;
}

/// Where the largest quarter begins, and what share of each segment that was measured lies in it. A bin that it begins
/// in counts in part.
void SkipImportance::decide() {
  const auto weight_of = [](const Entry& entry) {
    const auto sampled = std::accumulate(entry.histogram.begin(), entry.histogram.end(), std::uint64_t{0});
    return sampled > 0 ? static_cast<double>(entry.segment.count) / static_cast<double>(sampled) : 0;
  };
  std::array<double, bins> all{};
  double quarter = 0;
  for (const auto& [key, entry] : entries_) {
    const double weight = weight_of(entry);
    for (std::size_t bin = 0; bin < bins; ++bin) all[bin] += weight * entry.histogram[bin];
    quarter += 0.25 * static_cast<double>(entry.segment.count);
  }
  std::size_t first = bins;
  double part = 0;  // of the first bin
  while (first > 0 && quarter > 0) {
    --first;
    part = std::min(all[first] > 0 ? quarter / all[first] : 0, 1.0);
    quarter -= all[first];
  }
  for (auto& [key, entry] : entries_) {
    if (!entry.fresh) continue;
    entry.fresh = false;
    double inside = 0;
    for (std::size_t bin = first; bin < bins; ++bin) inside += (bin == first ? part : 1) * entry.histogram[bin];
    Segment& segment = entry.segment;
    segment.share = segment.count > 0 ? inside * weight_of(entry) / static_cast<double>(segment.count) : 0;
    segment.important = segment.share > options_.threshold;
    segment.measured = true;
  }
}

}  // namespace lacuna
