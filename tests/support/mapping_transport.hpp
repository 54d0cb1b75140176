#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/values/mappable_heap.hpp"
#include "tests/support/forwarding_transport.hpp"

namespace lacuna::test {

/// A transport whose peers map this process's MappableHeap, as ranks of the same host do.
class MappingTransport final : public ForwardingTransport {
 public:
  /// While `maps` is false, the peers do not map it. The peers of `apart` never do.
  explicit MappingTransport(std::unique_ptr<Transport> inner, const bool& maps = always, std::vector<Peer> apart = {})
      : ForwardingTransport(std::move(inner)), maps_(maps), apart_(std::move(apart)) {}

  bool is_mapped_by(Peer peer, std::span<const std::byte> bytes) override {
    return maps_ && std::find(apart_.begin(), apart_.end(), peer) == apart_.end() && !bytes.empty() &&
           MappableHeap::of_process().find(bytes);
  }

 private:
  static constexpr bool always = true;

  const bool& maps_;
  const std::vector<Peer> apart_;
};

}  // namespace lacuna::test
