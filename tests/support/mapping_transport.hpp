#pragma once

#include "runtime/values/mappable_heap.hpp"
#include "tests/support/forwarding_transport.hpp"

namespace lacuna::test {

/// A transport whose peers map this process's MappableHeap.
class MappingTransport final : public ForwardingTransport {
 public:
  /// While `maps` is false, the peers do not map it.
  explicit MappingTransport(std::unique_ptr<Transport> inner, const bool& maps = always)
      : ForwardingTransport(std::move(inner)), maps_(maps) {}

  bool is_mapped_by(Peer, std::span<const std::byte> bytes) override {
    return maps_ && !bytes.empty() && MappableHeap::of_process().find(bytes);
  }

 private:
  static constexpr bool always = true;

  const bool& maps_;
};

}  // namespace lacuna::test
