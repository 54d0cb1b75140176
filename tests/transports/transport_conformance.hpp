#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/values/digest.hpp"
#include "runtime/values/mappable_heap.hpp"
#include "transports/transport.hpp"

namespace lacuna::test {

/// A transport under test. A new one joins the suite from a test file of its own:
///   INSTANTIATE_TEST_SUITE_P(Ucx, TransportConformance, testing::Values(Backend{"tcp", make_ranks}), backend_name);
struct Backend {
  std::string name;  ///< letters, digits and underscores
  /// Makes the transports of ranks 0 .. size - 1, which are not connected yet.
  std::function<std::vector<std::unique_ptr<Transport>>(Rank size)> make;
};

inline std::string backend_name(const testing::TestParamInfo<Backend>& info) { return info.param.name; }
inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

class TransportConformance : public testing::TestWithParam<Backend> {};

/// Takes memory that other processes can map, so that transports may let peers read it in place.
template <class T>
struct MappableAllocator {
  using value_type = T;

  MappableAllocator() = default;
  template <class Other>
  MappableAllocator(const MappableAllocator<Other>&) {}  // NOLINT: implicit by design
  T* allocate(std::size_t count) { return reinterpret_cast<T*>(MappableHeap::of_process().take(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) {
    MappableHeap::of_process().give_back(reinterpret_cast<std::byte*>(memory), count * sizeof(T));
  }
  friend bool operator==(MappableAllocator, MappableAllocator) { return true; }
};

using Bytes = std::vector<std::byte, MappableAllocator<std::byte>>;
using Address = std::vector<std::byte>;
using namespace std::chrono_literals;

inline constexpr auto patience = 30s;  // the time that a sanitizer may need on a busy machine

/// Bytes that are different for each key.
inline Bytes pattern(std::size_t size, std::uint64_t key) {
  Bytes bytes(size);
  for (std::size_t start = 0; start < size; start += 8) {
    const std::uint64_t word = mix64(key * 0x10001 + start + 1);
    std::memcpy(bytes.data() + start, &word, std::min<std::size_t>(8, size - start));
  }
  return bytes;
}

/// A pattern that begins with its key.
inline Bytes header_for(std::uint64_t key, std::size_t size = 16) {
  Bytes header = pattern(size, ~key);
  std::memcpy(header.data(), &key, sizeof key);
  return header;
}

inline std::uint64_t key_of(const Bytes& header) {
  std::uint64_t key = 0;
  if (header.size() >= sizeof key) std::memcpy(&key, header.data(), sizeof key);
  return key;
}

inline bool readable(int fd, std::chrono::milliseconds within) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(within.count())) == 1;
}

/// One rank. It checks what must hold for every use of a transport: callbacks come only from progress(), and each
/// pending operation completes once. It owns the memory of its operations, and spoils the memory as soon as it may.
class Node final : public Receiver {
 public:
  struct Arrived {
    Peer from = 0;
    Bytes header;
    Bytes bytes;
  };
  struct Waiting {
    Peer from = 0;
    Bytes header;
    Descriptor descriptor;
  };

  explicit Node(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

  Transport& transport() { return *transport_; }

  Started send(Peer to, Bytes header, Bytes bytes, Delivery delivery = Delivery::Eager) {
    Operation& operation = start({0, std::move(header), std::move(bytes)}, false);
    const Arrived& sent = operation.memory;
    return called(operation, [&] { return transport_->send(to, sent.header, sent.bytes, delivery, &operation); });
  }

  /// Fetches the bytes of a descriptor. Where they can be read in place, it reads every second one there.
  Started fetch(Waiting from) {
    if (from.descriptor.data && ++in_place_ % 2 == 0) {
      read(from);
      return Started::Done;
    }
    Operation& operation = start({from.from, std::move(from.header), Bytes(from.descriptor.bytes)}, true);
    return called(operation,
                  [&] { return transport_->fetch(from.descriptor, operation.memory.bytes.data(), &operation); });
  }

  /// Reads the bytes of a descriptor in place, and ends it.
  void read(const Waiting& from) {
    const std::byte* const bytes = from.descriptor.data;
    arrived.push_back({from.from, from.header, {bytes, bytes + from.descriptor.bytes}});
    inside_call_ = true;
    transport_->release(from.descriptor);
    inside_call_ = false;
  }

  void discard(const Waiting& from) {
    inside_call_ = true;
    transport_->discard(from.descriptor);
    inside_call_ = false;
  }

  bool arm() {
    inside_call_ = true;
    const bool armed = transport_->arm();
    inside_call_ = false;
    return armed;
  }

  /// Makes progress, and then fetches all descriptors that wait, unless `fetches` is false.
  bool progress() {
    inside_progress_ = true;
    bool moved = transport_->progress();
    inside_progress_ = false;
    if (!fetches) return moved;
    for (Waiting& from : std::exchange(waiting, {})) {
      fetch(std::move(from));
      moved = true;
    }
    return moved;
  }

  /// Makes progress only when the event descriptor asks for it, once armed.
  void progress_when_woken() {
    if (asleep_ && !readable(transport_->event_fd(), 1ms)) return;
    asleep_ = !asleep_ && arm();
    if (!asleep_) progress();
  }

  /// Closes the transport. A second call does nothing.
  Status close(std::chrono::milliseconds deadline) {
    if (std::exchange(closed_, true)) return {};
    inside_progress_ = true;
    Status status = transport_->close(deadline);
    inside_progress_ = false;
    for (auto& [token, operation] : operations_) spoil(operation->memory);
    return status;
  }

  std::size_t pending() const { return pending_; }

  void on_message(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes) override {
    check_callback();
    arrived.push_back({from, {header.begin(), header.end()}, {bytes.begin(), bytes.end()}});
  }
  void on_descriptor(Peer from, std::span<const std::byte> header, Descriptor descriptor) override {
    check_callback();
    if (discards_at_once) {
      ++discarded;
      return transport_->discard(descriptor);
    }
    waiting.push_back({from, {header.begin(), header.end()}, descriptor});
  }
  void on_complete(Token token, const Status& status) override {
    check_callback();
    const auto found = operations_.find(token);
    if (found == operations_.end()) {
      ADD_FAILURE() << "completion of an unknown operation";
    } else if (!found->second->pending) {
      ADD_FAILURE() << "completion of an operation that was done or had been completed";
    } else {
      if (!status) failures.push_back(status);
      --pending_;
      end(*found->second, status.is_ok());
    }
  }
  void on_peer_failure(Peer peer, const Status& status) override {
    check_callback();
    ADD_FAILURE() << "peer " << peer << " failed: " << status.to_string();
  }

  std::vector<Arrived> arrived;  ///< eager messages, and messages that were fetched
  std::vector<Waiting> waiting;  ///< descriptors that are neither fetched nor discarded
  std::vector<Status> failures;  ///< the errors of completions
  bool fetches = true;
  bool discards_at_once = false;  ///< true: it discards descriptors inside the handler to which they come
  std::size_t discarded = 0;      ///< number of descriptors discarded inside the handler

 private:
  struct Operation {
    Arrived memory;
    bool is_fetch = false;
    bool pending = false;
  };

  Operation& start(Arrived memory, bool is_fetch) {
    auto operation = std::make_unique<Operation>(Operation{std::move(memory), is_fetch});
    return *operations_.emplace(operation.get(), std::move(operation)).first->second;
  }

  Started called(Operation& operation, const std::function<Started()>& call) {
    inside_call_ = true;
    const bool outer = std::exchange(inside_progress_, false);
    const Started started = call();
    inside_call_ = false;
    inside_progress_ = outer;
    operation.pending = started == Started::Pending;
    if (operation.pending) {
      ++pending_;
    } else {
      end(operation, true);
    }
    return started;
  }

  void end(Operation& operation, bool ok) {
    operation.pending = false;
    if (operation.is_fetch && ok) arrived.push_back(std::move(operation.memory));
    spoil(operation.memory);
  }

  static void spoil(Arrived& memory) {
    std::fill(memory.header.begin(), memory.header.end(), std::byte{0xa5});
    std::fill(memory.bytes.begin(), memory.bytes.end(), std::byte{0xa5});
    memory = {};
  }

  void check_callback() const {
    EXPECT_TRUE(inside_progress_) << "callback outside progress()";
    EXPECT_FALSE(inside_call_) << "callback from a call that may not make any";
  }

  // Operations that have ended stay here, so that nothing else gets their addresses.
  std::unordered_map<Token, std::unique_ptr<Operation>> operations_;
  std::size_t pending_ = 0;
  std::size_t in_place_ = 0;
  bool inside_call_ = false;
  bool inside_progress_ = false;
  bool asleep_ = false;
  bool closed_ = false;
  std::unique_ptr<Transport> transport_;
};

/// All ranks of a network, connected. The calling thread uses them in turn, or each has a thread.
class Fleet {
 public:
  Fleet(const Backend& backend, Rank size) : Fleet(backend.make(size)) {}
  explicit Fleet(std::vector<std::unique_ptr<Transport>> transports) {
    std::vector<Address> addresses;
    for (auto& transport : transports) {
      addresses.push_back(transport->address());
      nodes_.push_back(std::make_unique<Node>(std::move(transport)));
    }
    for (auto& node : nodes_) EXPECT_TRUE(node->transport().connect(addresses, *node));
  }
  ~Fleet() { close(2s); }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  std::size_t size() const { return nodes_.size(); }
  Node& operator[](std::size_t rank) { return *nodes_[rank]; }

  /// Makes progress on all in turn until the condition holds. The test fails if it never does.
  void drive_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      for (auto& node : nodes_) node->progress();
      if (std::chrono::steady_clock::now() > end) return void(ADD_FAILURE() << "what was waited for did not happen");
    }
  }

  void run_threads(const std::function<void(std::size_t rank, Node& node)>& body) {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < size(); ++rank) {
      threads.emplace_back([&, rank] { body(rank, *nodes_[rank]); });
    }
    for (auto& thread : threads) thread.join();
  }

  /// Closes all at the same time, because a transport may wait for its peers.
  void close(std::chrono::milliseconds deadline) {
    run_threads([deadline](std::size_t, Node& node) { static_cast<void>(node.close(deadline)); });
  }

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace lacuna::test
