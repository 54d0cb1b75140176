#include "runtime/graph/algorithm.hpp"

#include <fmt/format.h>

#include "runtime/graph/frame.hpp"
#include "runtime/graph/plan.hpp"

namespace lacuna {
namespace {

Status check_board(const Algorithm& algorithm, const Call& call, const Hosts& hosts) {
  if (!hosts.has_board()) {
    return {
        Code::Unsupported,
        fmt::format("{} {}: these ranks share no board; ranks of a job without aggregators do, if all are on one host "
                    "and can map each other's memory",
                    to_string(call.collective), algorithm.name)};
  }
  const std::size_t most = most_bytes_on_board / size_of(call.dtype);
  if (call.count <= most) return {};
  return {Code::InvalidArgument,
          fmt::format("{} {} of {} elements of {}; allowed are {} at most", to_string(call.collective), algorithm.name,
                      call.count, to_string(call.dtype), most)};
}

}  // namespace

Status serves(const Algorithm& algorithm, const Call& call, const Hosts& hosts) {
  if (algorithm.on_board) {
    if (Status fits = check_board(algorithm, call, hosts); !fits) return fits;
  }
  return algorithm.supports ? algorithm.supports(call, hosts) : Status();
}

GraphBuilder program_of(const Algorithm& algorithm, const GraphShape& shape) {
  const Frame* frame = shape.structure.frame;
  GraphBuilder g(shape, algorithm.symmetric);
  if (frame) frame->before(g);
  algorithm.build(g);
  if (frame && frame->after) frame->after(g);
  if (g.meets() && !algorithm.on_board) {
    g.refuse("board_reduce() is called by a program whose algorithm is not on_board");
  }
  return g;
}

}  // namespace lacuna
