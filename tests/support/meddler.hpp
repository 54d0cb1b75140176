#pragma once

#include <memory>
#include <vector>

#include "transports/transport.hpp"

namespace lacuna::test {

/// Stands between a transport and its owner: what arrives is held until the test passes it on, in any order, also
/// changed or more than once. What is sent goes through.
class Meddler final : public Transport, private Receiver {
 public:
  struct Message {
    Peer from = 0;
    std::vector<std::byte> header, bytes;
    Delivery delivery = Delivery::Eager;
  };

  explicit Meddler(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  /// What has arrived and was not passed on, and what was.
  std::vector<Message> held, passed;
  /// The owner sees it in the next progress().
  void show(Message message) { shown_.push_back(std::move(message)); }
  void pass(std::size_t index);

  std::string_view name() const override { return inner_->name(); }
  std::vector<std::byte> address() const override { return inner_->address(); }
  Status connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) override;
  Status viable(const Memory& memory) const override { return inner_->viable(memory); }
  std::size_t eager_limit() const override { return inner_->eager_limit(); }
  Started send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Delivery delivery,
               Token token) override {
    return inner_->send(to, header, bytes, delivery, token);
  }
  Started fetch(Descriptor descriptor, std::byte* to, Token token) override;
  void discard(Descriptor descriptor) override;
  bool progress() override;
  int event_fd() const override { return inner_->event_fd(); }
  bool arm() override { return shown_.empty() && inner_->arm(); }
  Counters counters(Peer peer) const override { return inner_->counters(peer); }
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

  const std::unique_ptr<Transport> inner_;
  Receiver* receiver_ = nullptr;
  std::vector<Offered> offered_;  // to be fetched here
  std::vector<Message> shown_;
  std::vector<std::unique_ptr<Message>> offers_;  // that the owner has not ended
};

}  // namespace lacuna::test
