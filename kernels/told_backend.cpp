#include "kernels/told_backend.hpp"

#include <array>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace lacuna::kernels {
namespace {

constexpr std::size_t cell_bytes = 64 * 1024;  // of all cells
constexpr std::size_t cell_alignment = 16;

}  // namespace

/// The results of one call, which ends with wait().
class ToldBackend::Results {
 public:
  explicit Results(const ToldBackend& on) : on_(on) {}

  /// Returns where the device writes a result: at the place itself, if that does not lie in the host's ordinary memory,
  /// or in a cell. A cell first holds what the place holds.
  template <class T>
  T* at(T* place, std::size_t count = 1) {
    return reinterpret_cast<T*>(place_of(reinterpret_cast<std::byte*>(place), count * sizeof(T)));
  }
  /// Notes results of a call that lie here, in memory that the device reaches.
  void note(const void* place) { waits_ = waits_ || (place && kind_of(place) != MemoryKind::Cuda); }
  /// Returns where the device reads what the host gives.
  template <class T>
  const T* given(const T* value, std::size_t count = 1) {
    if (count == 0) return nullptr;
    if (!value || kind_of(value) != MemoryKind::Host) return value;
    return reinterpret_cast<const T*>(cell_with(reinterpret_cast<const std::byte*>(value), count * sizeof(T)).there);
  }

  /// Waits for results that do not lie on the device, and takes them to their places.
  void wait() {
    if (!waits_) return;
    const std::span told(told_.data(), results_);
    for (const Told& one : told) on_.copy_cell(one.cell.here, one.cell.there, one.bytes);
    on_.wait();
    for (const Told& one : told) std::memcpy(one.to, one.cell.here, one.bytes);
  }

 private:
  struct Told {
    std::byte* to = nullptr;
    Cell cell;
    std::size_t bytes = 0;
  };

  MemoryKind kind_of(const void* place) const { return on_.device_.where(place).kind; }

  std::byte* place_of(std::byte* place, std::size_t bytes) {
    if (bytes == 0) return nullptr;
    const MemoryKind kind = kind_of(place);
    waits_ = waits_ || kind != MemoryKind::Cuda;
    if (kind != MemoryKind::Host) return place;
    const Cell cell = cell_with(place, bytes);
    told_.at(results_++) = {place, cell, bytes};
    return cell.there;
  }

  /// Takes a cell with these bytes.
  Cell cell_with(const std::byte* from, std::size_t bytes) {
    const Cell cell = on_.take_cell(bytes);
    std::memcpy(cell.here, from, bytes);
    on_.copy_cell(cell.there, cell.here, bytes);
    return cell;
  }

  const ToldBackend& on_;
  bool waits_ = false;
  std::array<Told, 2> told_{};
  std::size_t results_ = 0;
};

ToldBackend::CellMemory::CellMemory(MemorySpace& space) : space_(space), data_(space.take(cell_bytes)) {}

ToldBackend::CellMemory::~CellMemory() { space_.give_back(data_, cell_bytes); }

ToldBackend::ToldBackend(Device& device)
    : device_(device),
      on_(device.kernels()),
      here_(device.pinned()),
      there_(device.memory()),
      event_(device.take_event()) {}

ToldBackend::~ToldBackend() { device_.give_back(event_); }

/// A call has few cells, which together take less than all. So no cell that it needs is taken again.
ToldBackend::Cell ToldBackend::take_cell(std::size_t bytes) const {
  const std::size_t whole = (bytes + cell_alignment - 1) / cell_alignment * cell_alignment;
  if (whole > cell_bytes / 4) throw std::length_error("a result on the host is too long for the cells of a device");
  if (used_ + whole > cell_bytes) {
    wait();
    used_ = 0;
  }
  const Cell cell{here_.at(used_), there_.at(used_)};
  used_ += whole;
  return cell;
}

void ToldBackend::copy_cell(std::byte* to, const std::byte* from, std::size_t bytes) const {
  device_.copy(DeviceStream::Compute, to, from, bytes);
}

void ToldBackend::wait() const {
  device_.record(event_, DeviceStream::Compute);
  while (!device_.has_passed(event_)) std::this_thread::yield();
}

std::string_view ToldBackend::name() const { return on_.name(); }
std::size_t ToldBackend::elements_in_cache() const { return on_.elements_in_cache(); }

void ToldBackend::reduce(Reduction reduction, Scale scale, Target out, const std::byte* a, const std::byte* b) const {
  Results results(*this);
  results.note(out.data);
  on_.reduce(reduction, scale, out, a, b);
  results.wait();
}

void ToldBackend::clear(Target out) const {
  Results results(*this);
  results.note(out.data);
  on_.clear(out);
  results.wait();
}

void ToldBackend::copy(Scale scale, Target out, const std::byte* in) const {
  Results results(*this);
  results.note(out.data);
  on_.copy(scale, out, in);
  results.wait();
}

void ToldBackend::sum_of_powers(Source from, int power, double scale, double* sum) const {
  Results results(*this);
  on_.sum_of_powers(from, power, scale, results.at(sum));
  results.wait();
}

void ToldBackend::feed_back(const FeedBack& by, Target residual, std::byte* velocity, const std::byte* input) const {
  Results results(*this);
  results.note(residual.data);
  on_.feed_back(by, residual, velocity, input);
  results.wait();
}

void ToldBackend::convert(Source from, Target to, std::byte* rest) const {
  Results results(*this);
  results.note(to.data);
  on_.convert(from, to, rest);
  results.wait();
}

void ToldBackend::accumulate(Reduction reduction, Target sum, Source term) const {
  Results results(*this);
  results.note(sum.data);
  on_.accumulate(reduction, sum, term);
  results.wait();
}

void ToldBackend::compare(Source a, const std::byte* b, Comparison* sums) const {
  Results results(*this);
  on_.compare(a, b, results.at(sums));
  results.wait();
}

void ToldBackend::largest(Source from, std::uint64_t k, std::byte* workspace, Cut* cut) const {
  Results results(*this);
  on_.largest(from, k, workspace, results.at(cut));
  results.wait();
}

void ToldBackend::estimate(Source from, std::uint64_t k, std::size_t samples, const Sampler& sampler, std::byte* room,
                           std::byte* workspace, Cut* cut) const {
  Results results(*this);
  on_.estimate(from, k, samples, sampler, room, workspace, results.at(cut));
  results.wait();
}

void ToldBackend::count(Source from, const Cut* cut, std::uint64_t* count) const {
  Results results(*this);
  on_.count(from, results.given(cut), results.at(count));
  results.wait();
}

void ToldBackend::compact(Source from, const Cut* cut, EntriesList to, std::uint64_t* taken) const {
  Results results(*this);
  results.note(to.values);
  on_.compact(from, results.given(cut), to, results.at(taken));
  results.wait();
}

void ToldBackend::keep(const EntriesView& entries, const Cut* cut, EntriesList kept, Target rest,
                       std::uint64_t* taken) const {
  Results results(*this);
  results.note(kept.values);
  on_.keep(entries, results.given(cut), kept, rest, results.at(taken));
  results.wait();
}

void ToldBackend::sample_magnitudes(Source from, std::size_t stride, std::span<std::uint32_t> to) const {
  Results results(*this);
  on_.sample_magnitudes(from, stride, {results.at(to.data(), to.size()), to.size()});
  results.wait();
}

void ToldBackend::count_magnitudes(Source from, std::size_t samples, std::uint32_t* bins) const {
  Results results(*this);
  on_.count_magnitudes(from, samples, results.at(bins, magnitude_bins));
  results.wait();
}

void ToldBackend::histogram(std::span<const std::uint32_t> places, std::size_t length, std::span<std::int64_t> bins,
                            std::span<std::int64_t> skews) const {
  Results results(*this);
  on_.histogram(places, length, {results.at(bins.data(), bins.size()), bins.size()},
                {results.at(skews.data(), skews.size()), skews.size()});
  results.wait();
}

void ToldBackend::find_range(std::span<const std::uint32_t> places, std::uint64_t begin, std::uint64_t end,
                             Between* found) const {
  Results results(*this);
  on_.find_range(places, begin, end, results.at(found));
  results.wait();
}

void ToldBackend::sample_places(std::span<const std::uint32_t> places, const EvenSample& of,
                                std::uint32_t* words) const {
  Results results(*this);
  on_.sample_places(places, of, results.at(words, 1 + of.samples));
  results.wait();
}

void ToldBackend::find_common(std::span<const std::uint32_t> places, std::span<const std::uint32_t> others,
                              std::uint32_t* found, std::uint64_t* count) const {
  Results results(*this);
  results.note(found);
  on_.find_common(places, others, found, results.at(count));
  results.wait();
}

void ToldBackend::find_beyond(std::span<const std::uint32_t> places, std::size_t length, Beyond* found) const {
  Results results(*this);
  on_.find_beyond(places, length, results.at(found));
  results.wait();
}

void ToldBackend::clear_at(std::span<const std::uint32_t> places, Target to) const {
  Results results(*this);
  results.note(to.data);
  on_.clear_at(places, to);
  results.wait();
}

void ToldBackend::add_at(std::span<const std::uint32_t> places, const std::byte* values, Target to) const {
  Results results(*this);
  results.note(to.data);
  on_.add_at(places, values, to);
  results.wait();
}

void ToldBackend::gather(std::span<const std::uint32_t> places, Source from, std::byte* to) const {
  Results results(*this);
  results.note(to);
  on_.gather(places, from, to);
  results.wait();
}

void ToldBackend::sort(Dtype dtype, const EntriesView& list, std::size_t length, EntriesList to, EntriesList spare,
                       std::byte* workspace, std::uint64_t* taken, std::uint64_t* sound) const {
  Results results(*this);
  on_.sort(dtype, list, length, to, spare, workspace, results.at(taken), results.at(sound));
  results.wait();
}

void ToldBackend::pack_bits(std::span<const std::uint32_t> places, std::uint32_t base, std::size_t length,
                            std::byte* map) const {
  Results results(*this);
  results.note(map);
  on_.pack_bits(places, base, length, map);
  results.wait();
}

void ToldBackend::unpack_bits(const std::byte* map, std::size_t length, std::uint32_t* places,
                              std::uint64_t* count) const {
  Results results(*this);
  results.note(places);
  on_.unpack_bits(map, length, places, results.at(count));
  results.wait();
}

void ToldBackend::count_bits(const std::byte* map, std::size_t length, std::uint32_t* before) const {
  Results results(*this);
  results.note(before);
  on_.count_bits(map, length, before);
  results.wait();
}

void ToldBackend::find_blocks(Source from, const BlockGrid& grid, const Cut* cut, std::byte* map) const {
  Results results(*this);
  results.note(map);
  on_.find_blocks(from, grid, results.given(cut), map);
  results.wait();
}

void ToldBackend::rank_bits(const std::byte* map, std::size_t length, std::uint32_t* ranks) const {
  Results results(*this);
  results.note(ranks);
  on_.rank_bits(map, length, ranks);
  results.wait();
}

void ToldBackend::unite_bits(std::byte* map, const std::byte* other, std::size_t length) const {
  Results results(*this);
  results.note(map);
  on_.unite_bits(map, other, length);
  results.wait();
}

void ToldBackend::take_blocks(Source from, const BlockGrid& grid, const BlockSet& set, std::byte* packed) const {
  Results results(*this);
  results.note(packed);
  on_.take_blocks(from, grid, set, packed);
  results.wait();
}

void ToldBackend::put_blocks(const std::byte* packed, const BlockGrid& grid, const BlockSet& set, bool clears,
                             Target to) const {
  Results results(*this);
  results.note(to.data);
  on_.put_blocks(packed, grid, set, clears, to);
  results.wait();
}

void ToldBackend::sum_rows(Dtype dtype, const std::byte* rows, std::size_t length, std::size_t count,
                           const std::uint32_t* begins, const std::uint32_t* order, std::byte* packed) const {
  Results results(*this);
  results.note(packed);
  on_.sum_rows(dtype, rows, length, count, begins, order, packed);
  results.wait();
}

void ToldBackend::clear_blocks(const BlockGrid& grid, const BlockSet& set, Target to) const {
  Results results(*this);
  results.note(to.data);
  on_.clear_blocks(grid, set, to);
  results.wait();
}

void ToldBackend::reduce_blocks(std::span<const BlockSource> sources, const ReduceBlocksCall& call) const {
  Results results(*this);
  results.note(call.out);
  on_.reduce_blocks(sources, call);
  results.wait();
}

void ToldBackend::copy_bytes(const std::byte* from, std::size_t bytes, std::byte* to) const {
  Results results(*this);
  on_.copy_bytes(results.given(from, bytes), bytes, results.at(to, bytes));
  results.wait();
}

void ToldBackend::encode(const EntriesHeader& header, const EntriesView& list, std::byte* to) const {
  Results results(*this);
  results.note(to);
  on_.encode(header, list, to);
  results.wait();
}

void ToldBackend::read_header(const std::byte* message, EntriesHeader* header) const {
  Results results(*this);
  on_.read_header(message, results.at(header));
  results.wait();
}

void ToldBackend::index(const EntriesView& view, std::size_t length, std::uint32_t* before,
                        std::uint64_t* sound) const {
  Results results(*this);
  results.note(before);
  on_.index(view, length, before, results.at(sound));
  results.wait();
}

void ToldBackend::sum(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale, Target out,
                      std::uint64_t* entries) const {
  Results results(*this);
  results.note(out.data);
  on_.sum(views, before, scale, out, results.at(entries));
  results.wait();
}

void ToldBackend::merge(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale,
                        std::size_t length, Target room, EntriesList to, std::uint64_t* taken) const {
  Results results(*this);
  results.note(to.values);
  on_.merge(views, before, scale, length, room, to, results.at(taken));
  results.wait();
}

void ToldBackend::encode_levels(const LevelsShape& shape, const RandomStream& random, Source from, std::byte* message,
                                std::byte* rest) const {
  Results results(*this);
  results.note(message);
  on_.encode_levels(shape, random, from, message, rest);
  results.wait();
}

void ToldBackend::decode_levels(const LevelsShape& shape, const std::byte* message, Target to, bool adds) const {
  Results results(*this);
  results.note(to.data);
  on_.decode_levels(shape, message, to, adds);
  results.wait();
}

void ToldBackend::multiply_by_right(const MatrixShape& shape, Source matrix, const std::byte* right,
                                    std::byte* left) const {
  Results results(*this);
  results.note(left);
  on_.multiply_by_right(shape, matrix, right, left);
  results.wait();
}

void ToldBackend::multiply_by_left(const MatrixShape& shape, Source matrix, const std::byte* left,
                                   std::byte* right) const {
  Results results(*this);
  results.note(right);
  on_.multiply_by_left(shape, matrix, left, right);
  results.wait();
}

void ToldBackend::multiply_factors(const MatrixShape& shape, const std::byte* left, const std::byte* right,
                                   ProductUse does, Target to) const {
  Results results(*this);
  results.note(to.data);
  on_.multiply_factors(shape, left, right, does, to);
  results.wait();
}

void ToldBackend::orthonormalize(std::size_t vectors, Target factor, double* sums) const {
  Results results(*this);
  results.note(factor.data);
  on_.orthonormalize(vectors, factor, sums);
  results.wait();
}

void ToldBackend::draw_missing(std::size_t vectors, const RandomStream& random, Target factor, double* sums) const {
  Results results(*this);
  results.note(factor.data);
  on_.draw_missing(vectors, random, factor, sums);
  results.wait();
}

void ToldBackend::sketch(const SketchShape& shape, Source from, const std::byte* map, Target table) const {
  Results results(*this);
  results.note(table.data);
  on_.sketch(shape, from, map, table);
  results.wait();
}

void ToldBackend::decode_sketch(const SketchShape& shape, const Decoding& with, Target out) const {
  Results results(*this);
  results.note(out.data);
  on_.decode_sketch(shape, with, out);
  results.wait();
}

void ToldBackend::peel_sketch(const SketchShape& shape, const Peeling& with, Target table, Target out,
                              Peeled* peeled) const {
  Results results(*this);
  results.note(out.data);
  results.note(with.left);
  on_.peel_sketch(shape, with, table, out, results.at(peeled));
  results.wait();
}

}  // namespace lacuna::kernels
