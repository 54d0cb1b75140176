#pragma once

#include <memory>
#include <utility>

#include "transports/transport.hpp"

namespace lacuna::test {

/// A transport that does what another one does. Tests override some of its functions.
class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  std::vector<std::byte> address() const override { return inner_->address(); }
  Status connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) override {
    return inner_->connect(std::move(addresses), receiver);
  }
  Status viable(const Memory& memory) const override { return inner_->viable(memory); }
  std::size_t eager_limit() const override { return inner_->eager_limit(); }
  Started send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Delivery delivery,
               Token token) override {
    return inner_->send(to, header, bytes, delivery, token);
  }
  Started fetch(Descriptor descriptor, std::byte* to, Token token) override {
    return inner_->fetch(descriptor, to, token);
  }
  bool is_mapped_by(Peer peer, std::span<const std::byte> bytes) override { return inner_->is_mapped_by(peer, bytes); }
  void release(Descriptor descriptor) override { inner_->release(descriptor); }
  void discard(Descriptor descriptor) override { inner_->discard(descriptor); }
  bool progress() override { return inner_->progress(); }
  int event_fd() const override { return inner_->event_fd(); }
  bool arm() override { return inner_->arm(); }
  Counters counters(Peer peer) const override { return inner_->counters(peer); }
  using Transport::close;
  Status close(std::chrono::milliseconds deadline, const std::function<bool()>& pause, Ending ending) override {
    return inner_->close(deadline, pause, ending);
  }
  Access abandon() override { return inner_->abandon(); }

 protected:
  const std::unique_ptr<Transport> inner_;
};

}  // namespace lacuna::test
