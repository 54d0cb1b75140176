#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <optional>

#include "runtime/graph/frame.hpp"
#include "runtime/graph/graph_cost.hpp"
#include "runtime/graph/graphs.hpp"
#include "tests/conformance/calls.hpp"
#include "tests/conformance/fault.hpp"
#include "tests/conformance/properties.hpp"
#include "tests/support/counted_memory.hpp"
#include "tests/support/forwarding_transport.hpp"
#include "tests/support/guarded_compute.hpp"

namespace lacuna::conformance {
namespace {

/// Counts the payload that is handed to a transport.
class CountingTransport final : public test::ForwardingTransport {
 public:
  CountingTransport(std::unique_ptr<Transport> inner, std::uint64_t& sent)
      : ForwardingTransport(std::move(inner)), sent_(sent) {}
  Started send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Delivery delivery,
               Token token) override {
    sent_ += bytes.size();
    return ForwardingTransport::send(to, header, bytes, delivery, token);
  }

 private:
  std::uint64_t& sent_;
};

using Bytes = std::vector<std::uint64_t>;  // by rank

/// What each rank sends in the first run of its state, as the graphs of the run's parts tell it. Nothing if the data
/// decide it.
std::optional<Bytes> bytes_by_graphs(const Example& example, std::size_t chunk_bytes) {
  MethodState state;
  const Call call = example.call(state);
  const Hosts& hosts = example.hosts;
  Plan plan;
  make_plan({call, *example.algorithm, hosts, chunk_bytes}, plan);
  Bytes bytes(static_cast<std::size_t>(example.size()));
  for (const PartPlan& part : plan.parts) {
    const Algorithm& program = part.program ? *part.program : *example.algorithm;
    const Order order = order_of({call, *example.algorithm, hosts, state.sampler}, part);
    const Structure structure = structure_of_call(part.structure, false);
    runtime::GraphCost costs(*graphs_of(program, order.placed(hosts), {.structure = structure}));
    for (Rank rank = 0; rank < example.size(); ++rank) {
      const runtime::PartCost& cost = costs.of(order.position_of(rank), part.data.count);
      if (cost.depends_on_data || example.method->follow) return std::nullopt;
      bytes[static_cast<std::size_t>(rank)] += cost.sent.bytes_of(call.dtype);
    }
  }
  return bytes;
}

/// Compares what ranks report, and what their graphs tell, with what has crossed the transport.
void check_bytes(const Example& example) {
  Bytes sent(static_cast<std::size_t>(example.size()));
  test::RanksOptions options = test::drawn_options(example.count);
  options.wrap = [&](Rank rank, std::unique_ptr<Transport> inner) {
    return std::make_unique<CountingTransport>(std::move(inner), sent[static_cast<std::size_t>(rank)]);
  };
  Calls calls(example.size(), options, example.count);
  const std::optional<Bytes> told = bytes_by_graphs(example, options.executor.chunk_bytes);
  for (unsigned run = 0; run < 3; ++run) {
    const Bytes before = sent;
    calls.call_again(example, run + 5);
    demand(run > 0 || !told || sent == *told, "{}: ranks have sent {} bytes, their graphs tell {}", example.text,
           fmt::join(sent, ", "), fmt::join(told.value_or(Bytes()), ", "));
    for (std::size_t rank = 0; rank < sent.size(); ++rank) {
      const Report& report = calls.reports[rank];
      const std::uint64_t crossed = sent[rank] - before[rank];
      demand(!report.method || report.sent == crossed, "{}: rank {} reports {} bytes, and has sent {}", example.text,
             rank, report.sent, crossed);
    }
  }
}

}  // namespace

void touches_only_what_is_declared(const Method& method) {
  for (const Example& example : examples_of(method, {1, 2, 3, 5})) {
    test::RanksOptions guarded = test::drawn_options(0);
    guarded.executor.compute = test::guarded_compute;
    const Calls calls(example, guarded), free(example, test::drawn_options(0));
    calls.compare(free, example.text);
  }
}

// The mock device ends the process if a kernel gives it memory that no device reaches, or if the host touches the
// device's. Its work is done late, and its streams go on in a drawn order.
void computes_on_a_device(const Method& method) {
  std::size_t turn = 0;
  for (const Example& example : examples_of(method, {1, 2, 3, 5})) {
    const auto devices = ++turn % 2 == 0 ? test::OnDevice::All : test::OnDevice::Odd;
    const Calls on_host(example, test::drawn_options(0)), on_device(example, test::drawn_options(turn, devices));
    on_device.compare(on_host, example.text + " on devices");
  }
}

void reports_the_bytes(const Method& method) {
  for (const Example& example : examples_of(method, {1, 2, 3, 4, 5, 8}, {1, 100, 257})) check_bytes(example);
}

// What is drawn, or selected by a threshold that moves, may rarely need more than ever before. A call that keeps no
// memory for the next one takes some each time.
void needs_no_further_memory(const Method& method) {
  constexpr std::size_t warm_up = 16, further = 32;
  for (const Example& example : examples_of(method, {2, 4}, {1031})) {
    test::CountedMemory memory;
    const std::array<MemorySpace*, 1> spaces = {&memory};
    test::RanksOptions options = test::drawn_options(0);
    options.executor.memory = spaces;
    Calls calls(example.size(), options, example.count);
    for (std::size_t run = 0; run < warm_up; ++run) calls.call_again(example, 5);
    const std::size_t before = memory.taken();
    for (std::size_t run = 0; run < further; ++run) calls.call_again(example, 5);
    demand(memory.taken() - before < further / 2, "{}: after {} calls, {} further ones take {} blocks of memory",
           example.text, warm_up, further, memory.taken() - before);
  }
}

}  // namespace lacuna::conformance
