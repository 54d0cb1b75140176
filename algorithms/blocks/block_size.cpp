#include "algorithms/blocks/block_size.hpp"

#include <array>
#include <cstring>

#include "algorithms/blocks/block_kernels.hpp"

namespace lacuna::block {
namespace {

constexpr std::uint64_t runs_between_counts = 32;

using Counts = std::array<std::uint64_t, lengths>;

std::size_t words_of_counts(const PartView&) { return counts_of_state; }
constexpr BufferInfo counts_of_parts = {.role = Role::State,
                                        .element = Dtype::I64,
                                        .capacity = words_of_counts,
                                        .name = counts_array,
                                        .own = false,
                                        .memory = MemoryKind::Host};

/// The sum over all parts.
Counts counts_in(const StateArray& array) {
  Counts sum{};
  for (std::size_t part = 0; part < most_counted_parts; ++part) {
    Counts counts;
    std::memcpy(counts.data(), array.bytes.data() + part * sizeof(counts), sizeof(counts));
    for (std::size_t i = 0; i < lengths; ++i) sum[i] += counts[i];
  }
  return sum;
}

/// Counts blocks of all lengths while it is told, in order, which of the shortest blocks are not zero.
class Counter {
 public:
  void add(std::size_t block) {
    for (std::size_t i = 0; i < lengths && last_[i] != 1 + (block >> i); ++i) {
      last_[i] = 1 + (block >> i);
      ++counts_[i];
    }
  }
  const Counts& counts() const { return counts_; }

 private:
  Counts counts_{}, last_{};  // last_: 1 + the number of the last block that was counted; 0: there is none
};

struct CountBlocks {
  static constexpr std::string_view name = "count blocks";
  Read sets, own{};
  Write counts;

  Status operator()(const KernelCall& call) const {
    const PartView& part = call.part;
    const Roles roles = roles_of(part);
    const std::size_t blocks = kernels::BlockGrid{part.count, arguments_of(part).block}.blocks_of_array();
    Counter counter;
    for (std::size_t block = 0; block < blocks; ++block) {
      const auto [owner, i] = dealt(part, roles, block);
      const std::byte* const map = owner == part.position ? own->data : set_at(part, sets->data, owner);
      if ((map[i / 8] >> i % 8 & std::byte{1}) != std::byte{0}) counter.add(block);
    }
    const std::size_t parts = part.plan.parts.size(), each = parts_for_a_count(parts), row = part.part.draw / each;
    std::byte* const to = counts->data + row * sizeof(Counts);
    std::memcpy(to, counter.counts().data(), sizeof(Counts));
    // Rows behind that of the last part that counts hold nothing.
    const std::size_t rows = (parts + each - 1) / each;
    if (row + 1 == rows) std::memset(to + sizeof(Counts), 0, (most_counted_parts - rows) * sizeof(Counts));
    return {};
  }
};

/// Those that only add up get no result, so that they could not count.
bool all_get_the_result(const PlanRequest& request) {
  return request.aggregators == 0 && !options_of(request.call).dedicated;
}

}  // namespace

bool counts_next(const PlanRequest& request) {
  const Call& call = request.call;
  const bool may_count = options_of(call).block == 0 && &request.algorithm == &allreduce && all_get_the_result(request);
  if (!may_count || !call.options.state) return false;
  return call.options.state->runs % runs_between_counts == 0 || !call.options.state->find(counts_array);
}

std::size_t length_of_next(const PlanRequest& request) {
  const Options& options = request.call.options;
  if (const std::size_t asked = options_of(request.call).block; asked > 0) return asked;
  if (counts_next(request)) return least_length;
  const bool knows_counts = options.state && all_get_the_result(request);
  const StateArray* array = knows_counts ? options.state->find(counts_array) : nullptr;
  if (!array || array->count() != counts_of_state) return usual_length;
  const Counts counts = counts_in(*array);
  std::size_t best = counts[0] > 0 ? least_length : usual_length;
  for (std::size_t i = 1; i < lengths; ++i) {
    if (counts[0] > 0 && (counts[i] << i) <= counts[0] + counts[0] / 8) best = least_length << i;
  }
  return best;
}

void count_blocks(GraphBuilder& g, const Region& sets, const Region& own) {
  g.kernel(CountBlocks{.sets = sets, .own = own, .counts = g.buffer(counts_of_parts)});
}

}  // namespace lacuna::block
