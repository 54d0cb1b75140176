#include "bindings/cli/perf/data.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "algorithms/phases/replacement.hpp"
#include "algorithms/registry/gaps.hpp"
#include "algorithms/registry/registry.hpp"
#include "kernels/elements.hpp"
#include "runtime/values/digest.hpp"
#include "runtime/values/region.hpp"

namespace lacuna::cli {
namespace {

/// Writes the element of `dtype` that is nearest to a value.
void put_element(Dtype dtype, std::byte* to, double value) {
  kernels::with_element(dtype, [&]<class T>(kernels::Element<T>) {
    if constexpr (kernels::is_integer_element<T>) {
      kernels::store(to, 0, static_cast<T>(static_cast<std::int64_t>(value)));
    } else {
      kernels::store(to, 0, kernels::narrow<T>(static_cast<kernels::WideOf<T>>(value)));
    }
  });
  kernels::with_element_of(
      dtype, [](ElementKind kind) { return kind == ElementKind::Complex; },
      [&]<class T>(kernels::Element<T>) { kernels::store(to, 0, T(static_cast<typename T::value_type>(value))); });
}

/// The number that an element is. Of a complex one it is the real part, because put_element() gives no other.
double number_at(Dtype dtype, const std::byte* array, std::size_t i) {
  double number = kernels::load_number(dtype, array, i);
  kernels::with_element_of(
      dtype, [](ElementKind kind) { return kind == ElementKind::Complex; },
      [&]<class T>(kernels::Element<T>) { number = static_cast<double>(kernels::load<T>(array, i).real()); });
  return number;
}

/// Returns for how many ranks a sum of at most 7 from each is exact, also if a few further ranks give 1.
Rank ranks_of_sevens(Dtype dtype) {
  if (dtype == Dtype::BF16) return 256 / 7;
  return dtype == Dtype::F16 ? 2048 / 7 : std::numeric_limits<Rank>::max();
}

double combine(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::Min:
      return std::min(a, b);
    case Reduction::Max:
      return std::max(a, b);
    case Reduction::Prod:
      return a * b;
    default:
      return a + b;
  }
}

/// Scales the sum in the accumulation type.
double scaled(Dtype dtype, double sum, double multiplier, double divisor) {
  if (dtype == Dtype::F64) return sum * multiplier / divisor;
  return static_cast<double>(static_cast<float>(sum) * static_cast<float>(multiplier) / static_cast<float>(divisor));
}

/// Returns the length of a block in the tables that give_tables() makes. The mean over all blocks is `mean`.
std::size_t uneven_length(std::size_t mean, Rank block, Rank size) {
  const Rank mirrored = size - 1 - block;
  if (block == mirrored) return mean;
  if (block > mirrored) return 2 * mean - uneven_length(mean, mirrored, size);
  return boundary(static_cast<std::size_t>(2 * block), mean, static_cast<std::size_t>(size - 1));
}

/// Returns where block `rank` begins in the input of `source`.
std::size_t block_in_input(const PerfResult& result, Rank source) {
  const Call& call = result.call;
  if (traits_of(call.collective).input != Holds::Blocks) return 0;
  if (!has_tables(call.collective)) return static_cast<std::size_t>(result.rank) * call.count;
  if (call.collective != Collective::Alltoallv) return offset_of(call.input_blocks, result.rank);
  std::size_t begin = 0;  // the tables depend on the sum of the two ranks' numbers
  for (Rank block = 0; block < result.rank; ++block) {
    const Rank mine = (block + source - result.rank + result.size) % result.size;
    begin += call.input_blocks.counts[static_cast<std::size_t>(mine)];
  }
  return begin;
}

/// In an output with blocks, returns the rank whose block an element belongs to, and the element's place in this block.
std::pair<Rank, std::size_t> place_in_output(const PerfResult& result, std::size_t element) {
  const Call& call = result.call;
  if (traits_of(call.collective).output != Holds::Blocks) return {call.root, element};
  if (!has_tables(call.collective)) return {static_cast<Rank>(element / call.count), element % call.count};
  Rank block = 0;
  for (std::size_t count : call.output_blocks.counts) {
    if (element < count) break;
    element -= count;
    ++block;
  }
  return {block, element};
}

/// Returns the input that an element comes from in a collective without reduction: that of the block's rank, or of the
/// root.
double moved_value(const PerfResult& result, std::size_t element) {
  const auto [source, place] = place_in_output(result, element);
  return perf_value(result.call, source, block_in_input(result, source) + place, result.pattern);
}

/// Returns how many ranks' inputs are reduced. They are those of the lowest ranks.
Rank reduced_ranks(const PerfResult& result) {
  if (result.call.collective == Collective::Scan) return result.rank + 1;
  return result.call.collective == Collective::ExclusiveScan ? result.rank : result.size;
}

/// What a call has left out, for each element of the output.
struct LeftOut {
  std::vector<std::vector<bool>> values;  // by rank: is its value left out?
  std::vector<Rank> ranks;                // how many ranks' values are left out
  PartPlan part;                          // its arguments say what replaces them
  Hosts turned;  // hosts of different sizes of which random draws leave out whole ones; else none
};

/// Returns of how many hosts a value has arrived.
Rank hosts_there(const LeftOut& left_out, std::size_t element) {
  std::vector<bool> lacks(static_cast<std::size_t>(left_out.turned.count()));
  for (Rank rank = 0; rank < left_out.turned.size(); ++rank) {
    if (left_out.values[static_cast<std::size_t>(rank)][element]) {
      lacks[static_cast<std::size_t>(left_out.turned.host_of(rank))] = true;
    }
  }
  return static_cast<Rank>(std::count(lacks.begin(), lacks.end(), false));
}

double reduced_value(const PerfResult& result, const LeftOut* left_out, std::size_t element) {
  const Call& call = result.call;
  const std::size_t place = block_in_input(result, result.rank) + element;
  double value = call.reduction == Reduction::Prod ? 1 : 0;
  bool first = true;
  for (Rank rank = 0; rank < reduced_ranks(result); ++rank) {
    if (left_out && left_out->values[static_cast<std::size_t>(rank)][element]) continue;
    const double mine = perf_value(call, rank, place, result.pattern);
    value = std::exchange(first, false) ? mine : combine(call.reduction, value, mine);
  }
  static const PartPlan dense;
  FinalSum sum{
      .part = left_out ? left_out->part : dense, .reduction = call.reduction, .terms = result.size, .all = result.size};
  if (left_out) sum.terms -= left_out->ranks[element];
  if (left_out && left_out->turned.size() > 0) {
    sum.note = note_of({hosts_there(*left_out, element), left_out->turned.count()});
  }
  const Scale scale = scale_of(call.options.method.method(), sum);
  return scale.is_one() ? value : scaled(call.dtype, value, scale.multiplier, scale.divisor);
}

double expected_value(const PerfResult& result, const LeftOut* left_out, std::size_t element) {
  if (traits_of(result.call.collective).reduces) return reduced_value(result, left_out, element);
  const bool is_there = !left_out || left_out->ranks[element] == 0;
  return is_there ? moved_value(result, element) : 0;
}

std::optional<LeftOut> left_out_of(const PerfResult& result, std::size_t elements) {
  if (!asks_for_method(result.call)) return std::nullopt;
  const Hosts hosts = result.hosts.size() > 0 ? result.hosts : Hosts(result.size);
  const auto algorithm = select_algorithm(result.call, hosts);
  if (!algorithm) return std::nullopt;
  LeftOut all;
  all.values.assign(static_cast<std::size_t>(result.size), std::vector<bool>(elements));
  all.ranks.assign(elements, 0);
  const PlanRequest request{result.call, **algorithm, hosts, result.chunk_bytes};
  Plan plan;
  make_plan(request, plan);
  for (const PartPlan& part : plan.parts) {
    if (!part.is_dense()) all.part = part;
  }
  const bool drawn = all.part.arguments.as<Replacement>().drawn;
  if (drawn && (*algorithm)->by_hosts && hosts.ranks_on_each() == 0) all.turned = hosts;
  for (const Gap& gap : Gaps(request, result.sampler).of(result.rank)) {
    for (std::size_t i = gap.offset; i < gap.offset + gap.count; ++i) {
      all.values[static_cast<std::size_t>(gap.from)][i] = true;
      ++all.ranks[i];
    }
  }
  return all;
}

bool has_output(const PerfResult& result) {
  const Call& call = result.call;
  const bool reduces = traits_of(call.collective).reduces;
  return writes_output(call.collective, result.rank, call.root) && (!reduces || reduced_ranks(result) > 0);
}

}  // namespace

double perf_value(const Call& call, Rank rank, std::size_t element, const Pattern* pattern) {
  if (pattern && !pattern->has(rank, element)) return 0;
  const std::uint64_t mixed = mix64(element * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(rank));
  const bool sums = call.reduction == Reduction::Sum || call.reduction == Reduction::Avg;
  const bool fits = call.dtype == Dtype::F32 || call.dtype == Dtype::F64;
  if (pattern && pattern->has_values() && sums && fits) return pattern->value(rank, element);
  if (call.reduction == Reduction::Prod) return mixed % 5 == 0 && rank < 6 ? 2 : 1;
  if (rank < ranks_of_sevens(call.dtype)) return static_cast<double>(pattern ? 1 + mixed % 7 : mixed % 8);
  return element % 1024 == static_cast<std::size_t>(rank) % 1024 ? 1 : 0;
}

void give_tables(Call& call, Rank rank, Rank size, std::vector<std::size_t>& counts) {
  if (!has_tables(call.collective)) return;
  const bool exchanges = call.collective == Collective::Alltoallv;
  counts.clear();
  for (Rank block = 0; block < size; ++block) {
    counts.push_back(uneven_length(call.count, exchanges ? (block + rank) % size : block, size));
  }
  call.count = exchanges ? 0 : counts[static_cast<std::size_t>(rank)];
  call.input_blocks = call.output_blocks = {.counts = counts};
}

std::size_t fill_input(const Call& call, Rank rank, std::span<std::byte> input, const Pattern* pattern) {
  const std::size_t width = size_of(call.dtype);
  std::size_t entries = 0;
  for (std::size_t i = 0; i < input.size() / width; ++i) {
    const double value = perf_value(call, rank, i, pattern);
    put_element(call.dtype, input.data() + i * width, value);
    entries += value != 0;
  }
  return entries;
}

SquaredError squared_error(const PerfResult& result, std::span<const std::byte> output) {
  if (!has_output(result)) return {};
  const Dtype dtype = result.call.dtype;
  const std::size_t width = size_of(dtype);
  std::array<std::byte, 16> rounded{};
  SquaredError sums;
  for (std::size_t i = 0; i < output.size() / width; ++i) {
    put_element(dtype, rounded.data(), expected_value(result, nullptr, i));
    const double dense = number_at(dtype, rounded.data(), 0);
    const double off = number_at(dtype, output.data(), i) - dense;
    sums.off += off * off;
    sums.dense += dense * dense;
  }
  return sums;
}

std::size_t count_wrong(const PerfResult& result, std::span<const std::byte> output) {
  const Call& call = result.call;
  if (!has_output(result)) return 0;
  const std::size_t width = size_of(call.dtype);
  const std::size_t elements = output.size() / width;
  const std::optional<LeftOut> left_out = left_out_of(result, elements);
  std::array<std::byte, 4096> expected{};
  std::size_t wrong = 0;
  for (std::size_t begin = 0; begin < elements;) {
    const std::size_t end = std::min(elements, begin + expected.size() / width);
    for (std::size_t i = begin; i < end; ++i) {
      put_element(call.dtype, expected.data() + (i - begin) * width,
                  expected_value(result, left_out ? &*left_out : nullptr, i));
    }
    if (std::memcmp(expected.data(), output.data() + begin * width, (end - begin) * width) != 0) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::byte* right = expected.data() + (i - begin) * width;
        if (std::memcmp(right, output.data() + i * width, width) != 0) ++wrong;
      }
    }
    begin = end;
  }
  return wrong;
}

}  // namespace lacuna::cli
