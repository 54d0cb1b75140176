#include <dlfcn.h>
#include <gtest/gtest.h>
#include <ucp/api/ucp.h>

#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "transports/ucx.hpp"

namespace {

thread_local int releases = 0;  // number of releases that this thread has asked UCX for

}  // namespace

/// Counts a release, and passes it on to UCX. The library calls this function first, because it belongs to the program.
extern "C" void ucp_am_data_release(ucp_worker_h worker, void* data) {
  static const auto of_ucx =
      reinterpret_cast<decltype(&ucp_am_data_release)>(::dlsym(RTLD_NEXT, "ucp_am_data_release"));
  ++releases;
  of_ucx(worker, data);
}

namespace lacuna::test {
namespace {

/// Discards each descriptor at once, in the handler to which it comes.
class Discarder final : public Receiver {
 public:
  void on_message(Peer, std::span<const std::byte>, std::span<const std::byte>) override {}
  void on_descriptor(Peer, std::span<const std::byte>, Descriptor descriptor) override {
    transport->discard(descriptor);
    releases_in_handler += releases - released;
    ++discarded;
  }
  void on_complete(Token, const Status& status) override { ended += status.is_ok(); }
  void on_peer_failure(Peer, const Status& status) override { ADD_FAILURE() << status.to_string(); }

  Transport* transport = nullptr;
  int released = 0;  // the number of releases before the handler
  int releases_in_handler = 0, discarded = 0, ended = 0;
};

// UCX still looks at the message while its handler runs.
TEST(UcxRelease, WhatAHandlerDiscardsIsReleasedOnceItHasReturned) {
  std::array<std::unique_ptr<Transport>, 2> transports;
  std::vector<std::vector<std::byte>> addresses;
  for (auto& transport : transports) {
    transport = *make_ucx({});
    addresses.push_back(transport->address());
  }
  std::array<Discarder, 2> receivers;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    receivers[rank].transport = transports[rank].get();
    ASSERT_TRUE(transports[rank]->connect(addresses, receivers[rank]));
  }
  const std::vector<std::byte> header(48), bytes(1 << 20);
  const int before = releases;
  int token = 0;
  ASSERT_EQ(transports[0]->send(1, header, bytes, Delivery::Descriptor, &token), Started::Pending);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (receivers[0].ended == 0 && std::chrono::steady_clock::now() < end) {
    receivers[1].released = releases;
    for (auto& transport : transports) transport->progress();
  }
  EXPECT_EQ(receivers[1].discarded, 1);
  EXPECT_EQ(receivers[1].releases_in_handler, 0);
  EXPECT_EQ(releases - before, 1);
  EXPECT_EQ(receivers[0].ended, 1);
}

}  // namespace
}  // namespace lacuna::test
