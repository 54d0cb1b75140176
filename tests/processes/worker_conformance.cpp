#include "tests/processes/worker_conformance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "bindings/cli/perf_data.hpp"
#include "runtime/config.hpp"

namespace lacuna::test {
namespace {

constexpr std::array<std::size_t, 3> small_counts = {0, 1, 1031};
constexpr std::size_t large_count = 300007;
constexpr std::size_t margin = 64;  // bytes around a result that must stay as they are
constexpr std::byte untouched{0xa5};

constexpr std::array kinds = {
    std::pair(Dtype::F32, Reduction::Sum), std::pair(Dtype::BF16, Reduction::Avg), std::pair(Dtype::F16, Reduction::Sum),
    std::pair(Dtype::F64, Reduction::Max), std::pair(Dtype::I64, Reduction::Min),  std::pair(Dtype::U8, Reduction::Prod),
    std::pair(Dtype::I32, Reduction::Sum), std::pair(Dtype::F64, Reduction::Avg)};

/// One call with memory of its own, unaligned in every second case.
class Case {
 public:
  Case(const Call& call, bool in_place, std::size_t number, const Communicator& communicator)
      : call_(call), in_place_(in_place), rank_(communicator.rank()), size_(communicator.size()) {
    sampler_ = before_ = {.seed = 42, .key = number, .draw = number};
    call_.options.sampler = &sampler_;
    const std::size_t bytes = call.count * size_of(call.dtype), all = bytes * static_cast<std::size_t>(size_);
    input_bytes_ = call.collective == Collective::ReduceScatter ? all : bytes;
    output_bytes_ = call.collective == Collective::Allgather ? all : bytes;
    const std::size_t shift = margin + number % 2;
    input_.assign(input_bytes_ + 2 * margin + 1, untouched);
    output_.assign(output_bytes_ + 2 * margin + 1, untouched);
    std::byte* input = input_.data() + shift;
    std::byte* output = output_.data() + shift;
    const std::size_t block = in_place ? bytes * static_cast<std::size_t>(rank_) : 0;
    if (in_place && call.collective == Collective::ReduceScatter) output = input + block;
    if (in_place && call.collective != Collective::ReduceScatter) input = output;
    if (in_place && call.collective == Collective::Allgather) input = output + block;
    const bool reads = call.collective != Collective::Broadcast || rank_ == call.root;
    if (reads) cli::fill_input(call_, rank_, {input, input_bytes_});
    call_.input = reads ? input : nullptr;
    call_.output = output;
    given_ = input_;
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  const Call& call() const { return call_; }
  void corrupt() { output_[output_.size() / 2] ^= std::byte{1}; }

  std::string text() const {
    return fmt::format("{} {} {} {} count {} root {} skip {} {}{}", to_string(call_.collective),
                       call_.options.algorithm, to_string(call_.dtype), to_string(call_.reduction), call_.count,
                       call_.root, call_.options.skip_steps, to_string(call_.options.skip_mode),
                       in_place_ ? " in place" : "");
  }

  /// After the call's end.
  Status check(std::size_t chunk_bytes) const {
    const std::span result(static_cast<const std::byte*>(call_.output), output_bytes_);
    const std::size_t wrong = cli::count_wrong({call_, before_, rank_, size_, chunk_bytes}, result);
    if (wrong > 0) return failed(fmt::format("{} wrong elements", wrong));
    const bool input_may_change = in_place_ && call_.collective == Collective::ReduceScatter;
    if (!input_may_change && input_ != given_) return failed("the input was written to");
    const auto* begin = input_may_change ? input_.data() : output_.data();
    const auto* end = begin + (input_may_change ? input_.size() : output_.size());
    const auto* first = input_may_change ? begin + margin + 1 : result.data();
    const auto* last = input_may_change ? end - margin - 1 : first + result.size();
    const auto is_changed = [](std::byte byte) { return byte != untouched; };
    if (std::any_of(begin, begin + (input_may_change ? margin : first - begin), is_changed) ||
        std::any_of(last + (input_may_change ? 1 : 0), end, is_changed)) {
      return failed("bytes beside the result were written to");
    }
    return {};
  }

 private:
  Status failed(std::string_view how) const { return {Code::Internal, fmt::format("{}: {}", text(), how)}; }

  Call call_;
  bool in_place_;
  Rank rank_, size_;
  Sampler sampler_, before_;
  std::size_t input_bytes_ = 0, output_bytes_ = 0;
  std::vector<std::byte> input_, output_, given_;
};
