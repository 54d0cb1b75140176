#pragma once

#include <memory>
#include <vector>

#include "tests/support/forwarding_transport.hpp"
#include "transports/transport.hpp"

namespace lacuna::test {

/// Stands between a transport and its owner. It holds what arrives until the test passes it on: in any order, changed,
/// or more than once. What is sent goes through.
class Meddler final : public ForwardingTransport, private Receiver {
 public:
  struct Message {
    Peer from = 0;
    std::vector<std::byte> header, bytes;
    Delivery delivery = Delivery::Eager;
  };

  using ForwardingTransport::ForwardingTransport;

  /// What has arrived and was not passed on yet, and what was passed on.
  std::vector<Message> held, passed;
  /// Passes a message on. The owner sees it in the next progress().
  void show(Message message) { shown_.push_back(std::move(message)); }
  void pass(std::size_t index);

  Status connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) override;
  Started fetch(Descriptor descriptor, std::byte* to, Token token) override;
  void release(Descriptor descriptor) override { discard(descriptor); }
  void discard(Descriptor descriptor) override;
  bool progress() override;
  bool arm() override { return shown_.empty() && inner_->arm(); }
  using Transport::close;
  Status close(std::chrono::milliseconds deadline, const std::function<bool()>& pause, Ending ending) override;
  Access abandon() override;

 private:
  struct Offered {
    Peer from = 0;
    std::vector<std::byte> header;
    Descriptor descriptor;
  };

  void on_message(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes) override;
  void on_descriptor(Peer from, std::span<const std::byte> header, Descriptor descriptor) override;
  void on_complete(Token token, const Status& status) override { receiver_->on_complete(token, status); }
  void on_peer_failure(Peer peer, const Status& status) override { receiver_->on_peer_failure(peer, status); }
  std::unique_ptr<Message> take(Descriptor descriptor);

  Receiver* receiver_ = nullptr;
  std::vector<Offered> offered_;  // descriptors whose bytes are fetched here
  std::vector<Message> shown_;
  std::vector<std::unique_ptr<Message>> offers_;  // descriptors that the owner has not ended
};

}  // namespace lacuna::test
