#pragma once

#include <vector>

#include "algorithms/topology/process_grid.hpp"
#include "bindings/cpp/elements.hpp"
#include "bindings/cpp/request.hpp"
#include "runtime/values/exchange.hpp"

namespace lacuna {

/// Returns what is exchanged with one neighbour: it gets all of `out`, and all of `in` is filled by it. One of them may
/// be empty. Buffers are those of typed calls (TypedCall). Where they lie on a device, Exchange::memory must say so.
/// Like an Exchange, a Halo does not own its buffers.
///
///     const std::vector<Neighbour> sides = grid.neighbours(world.rank());
///     Status done = world.call(Exchange{.neighbours = sides, .halos = halos});
template <class Out, class In>
Halo halo(Out&& out, In&& in) {
  constexpr BufferFault fault = fault_of_buffers<void, Buffers::Elements, Out, In>();
  if constexpr (accept_buffers<fault>()) {
    const auto to = elements_of_buffer(out);
    const auto from = elements_of_buffer(in);
    return {to.data, to.size, from.data, from.size, DtypeOf<ElementOf<Out>>::value};
  } else {
    return {};
  }
}

/// A neighbour exchange that Communicator::prepare has made. It counts as ended until its first start(). Then it is the
/// request of the last start. Its buffers must live until it is destroyed. Moved into a Request, it can't be started
/// any more.
class PreparedExchange : public Request {
 public:
  PreparedExchange() = default;

  /// Starts the exchange. It can be started again once it has ended. If start() fails, nothing was sent or taken. After
  /// Busy, try again. By default nothing moves while the caller works; LACUNA_PROGRESS=thread changes this
  /// (Communicator::start).
  Status start();

 private:
  friend class Communicator;
  PreparedExchange(std::shared_ptr<GroupState> group, const Exchange& exchange);

  std::vector<Neighbour> neighbours_;
  std::vector<Halo> halos_;
  Exchange exchange_{};  // its lists are not used
};

}  // namespace lacuna
