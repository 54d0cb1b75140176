#include <fmt/format.h>

#include "algorithms/phases/sparse.hpp"

namespace lacuna::sparse {
namespace {

constexpr std::size_t most_places = 4294967295;

Status refuse(std::string text) { return {Code::InvalidArgument, std::move(text)}; }

}  // namespace

Status check_call(std::string_view method, const Call& call, Rank size) {
  if (is_integer(call.dtype)) {
    return refuse(fmt::format("{} of {}: the data must be of floating point", method, to_string(call.dtype)));
  }
  const bool sums = call.reduction == Reduction::Sum || call.reduction == Reduction::Avg;
  if (traits_of(call.collective).reduces && !sums) {
    return refuse(fmt::format("{} leaves out terms of a sum: the reduction is {}, must be sum or avg", method,
                              to_string(call.reduction)));
  }
  if (const std::size_t places = input_length(call, size); places > most_places) {
    return refuse(fmt::format("{} of {} elements: places have 32 bits, at most {} are allowed; cut the call", method,
                              places, most_places));
  }
  if (call.input_entries.places && call.input_entries.count > most_places) {
    return refuse(fmt::format("{} of an input of {} entries: at most {} are allowed; cut the call", method,
                              call.input_entries.count, most_places));
  }
  const std::size_t listed = call.output_entries.places ? output_length(call, size) : 0;
  if (listed <= most_places) return {};
  return refuse(fmt::format("{} of an output of {} elements: places have 32 bits, at most {} are allowed", method,
                            listed, most_places));
}

}  // namespace lacuna::sparse
