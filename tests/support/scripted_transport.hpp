#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/engine/wire.hpp"
#include "transports/transport.hpp"

namespace lacuna::test {

/// A transport without peers. The test says what arrives, with any header and any bytes, and sees what is sent.
class ScriptedTransport final : public Transport {
 public:
  struct Sent {
    Peer to = 0;
    runtime::MessageHeader header;
    std::vector<std::byte> bytes;
    Delivery delivery = Delivery::Eager;
  };

  explicit ScriptedTransport(Rank size) : size_(size) {}

  /// Makes a message arrive in the next progress().
  void arrive(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes,
              Delivery delivery = Delivery::Eager);
  void arrive(Peer from, const runtime::MessageHeader& header, std::span<const std::byte> bytes,
              Delivery delivery = Delivery::Eager) {
    arrive(from, std::as_bytes(std::span(&header, 1)), bytes, delivery);
  }

  /// Makes the connection break in the next progress().
  void lose(Peer peer) { lost_.push_back(peer); }

  std::vector<Sent> sent;
  bool fetches_wait = false;        ///< fetches are pending until the next progress()
  std::size_t fetched_at_once = 0;  ///< the most bytes of fetches that were pending at the same time
  std::size_t offered = 0;          ///< descriptors that were neither fetched nor discarded
  std::size_t limit = 8192;         ///< eager_limit()

  std::string_view name() const override { return "scripted"; }
  std::vector<std::byte> address() const override { return {}; }
  Status connect(std::vector<std::vector<std::byte>>, Receiver& receiver) override;
  Status viable(const Memory&) const override { return {}; }
  std::size_t eager_limit() const override { return limit; }
  Started send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Delivery delivery,
               Token token) override;
  Started fetch(Descriptor descriptor, std::byte* to, Token token) override;
  void discard(Descriptor descriptor) override;
  bool progress() override;
  int event_fd() const override { return -1; }
  bool arm() override { return arrivals_.empty() && fetches_.empty() && ended_.empty(); }
  Counters counters(Peer) const override { return {}; }
  using Transport::close;
  Status close(std::chrono::milliseconds, const std::function<bool()>&, Ending) override;
  Access abandon() override;

 private:
  struct Arrival {
    Peer from = 0;
    std::vector<std::byte> header, bytes;
    Delivery delivery = Delivery::Eager;
  };
  struct Fetch {
    std::unique_ptr<Arrival> offer;
    std::byte* to = nullptr;
    Token token = nullptr;
  };

  std::unique_ptr<Arrival> take(Descriptor descriptor);

  const Rank size_;
  Receiver* receiver_ = nullptr;
  std::deque<std::unique_ptr<Arrival>> arrivals_;
  std::unordered_map<void*, std::unique_ptr<Arrival>> offers_;  // by handle
  std::vector<Fetch> fetches_;
  std::vector<Token> ended_;
  std::vector<Peer> lost_;
};

}  // namespace lacuna::test
