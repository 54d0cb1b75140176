#include "examples/workloads/embeddings/row_average.hpp"

#include <fmt/format.h>

#include "runtime/method/method.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::workloads {

RowAverage::RowAverage(const MethodChoice& method, std::size_t rows, std::size_t width, std::size_t room)
    : method_(method), elements_(rows * width), width_(width), rows_(room), average_(room * width) {}

Options RowAverage::options() const { return {.algorithm = method_.algorithm, .method = method_.options}; }

Status RowAverage::check(Communicator& ranks) const {
  if (const std::size_t length = entry_length(method_.options); length != 0 && length != width_) {
    return {Code::InvalidArgument, fmt::format("a row of the table has {}, but {} takes lists of entries of {}",
                                               count_of(width_, "number"), method_.options.text(), length)};
  }
  std::uint32_t place = 0;
  const Call call{.collective = Collective::Allreduce,
                  .count = elements_,
                  .reduction = Reduction::Avg,
                  .input_entries = {.places = &place, .count = 0, .length = width_},
                  .options = options()};
  return ranks.algorithm_name(call).status();
}

Status RowAverage::give(Communicator& ranks, std::span<const std::uint32_t> rows, std::span<const float> gradient) {
  auto started =
      ranks.start(allreduce(SparseInput<float>(rows, gradient, elements_),
                            SparseOutput<float>(rows_, average_, elements_, count_), Reduction::Avg, options()));
  if (started) request_ = *std::move(started);
  return started.status();
}

Status RowAverage::take() { return request_.wait(); }

}  // namespace lacuna::workloads
