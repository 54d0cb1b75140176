// Send and receive in one call, receives from any rank, neighbour exchanges, and waits for several requests in C.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/bindings/c/c_given.hpp"

namespace lacuna {
namespace {

using test::Given;

class CExchanges : public test::OneCRank {
 protected:
  static bool says(const std::string& text) { return std::string(lacuna_last_error()).find(text) != std::string::npos; }
};

TEST_F(CExchanges, ASendrecvSendsAndReceives) {
  Given given;
  std::size_t count = 0;
  ASSERT_EQ(lacuna_sendrecv(rank_, &given.input, 0, &given.output, 0, 5, nullptr, &count, nullptr), LACUNA_OK);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(given.out, given.in);

  given.out = {};
  lacuna_request* request = nullptr;
  ASSERT_EQ(lacuna_sendrecv(rank_, &given.input, 0, &given.output, LACUNA_ANY_RANK, 5, nullptr, nullptr, &request),
            LACUNA_OK);
  EXPECT_EQ(lacuna_wait(request, -1), LACUNA_OK);
  std::uint64_t bytes = 0;
  std::int32_t from = 7;
  EXPECT_EQ(lacuna_received_bytes(request, &bytes), LACUNA_OK);
  EXPECT_EQ(lacuna_received_from(request, &from), LACUNA_OK);
  EXPECT_EQ(bytes, 16u);
  EXPECT_EQ(from, 0);
  EXPECT_EQ(given.out, given.in);
  lacuna_request_free(request);
}

TEST_F(CExchanges, AReceiveFromAnyRankTellsTheSenderAndTheCount) {
  Given given;
  given.input.count = 3;
  ASSERT_EQ(lacuna_send(rank_, &given.input, 0, 2, nullptr, nullptr), LACUNA_OK);
  std::int32_t from = 7;
  std::size_t count = 0;
  ASSERT_EQ(lacuna_receive_any(rank_, &given.output, 2, nullptr, &from, &count), LACUNA_OK);
  EXPECT_EQ(from, 0);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(given.out, (std::array<float, 4>{1, 2, 3, 0}));
}

TEST_F(CExchanges, AnExchangeOnAPeriodicGridOfOneRankGoesAround) {
  std::array<std::int32_t, 2> lengths{}, periodic = {1, 0};
  ASSERT_EQ(lacuna_balanced_grid(1, 2, lengths.data()), LACUNA_OK);
  EXPECT_EQ(lengths, (std::array<std::int32_t, 2>{1, 1}));
  std::array<lacuna_neighbour, 4> neighbours{};
  ASSERT_EQ(lacuna_grid_neighbours(lengths.data(), periodic.data(), 2, 0, neighbours.data()), LACUNA_OK);
  EXPECT_EQ(neighbours[1].rank, 0);
  EXPECT_EQ(neighbours[2].rank, LACUNA_NOBODY);
  const std::array<float, 2> up = {1, 2}, down = {3, 4};
  std::array<float, 2> above{}, below{}, beyond = {-1, -1};
  const std::array<lacuna_halo, 4> halos = {{{up.data(), 2, above.data(), 2, LACUNA_F32},
                                             {down.data(), 2, below.data(), 2, LACUNA_F32},
                                             {up.data(), 2, beyond.data(), 2, LACUNA_F32},
                                             {up.data(), 2, beyond.data(), 2, LACUNA_F32}}};
  ASSERT_EQ(lacuna_exchange(rank_, neighbours.data(), halos.data(), 4, 0, nullptr, nullptr), LACUNA_OK);
  EXPECT_EQ(above, down);
  EXPECT_EQ(below, up);
  EXPECT_EQ(beyond, (std::array<float, 2>{-1, -1}));
}

TEST_F(CExchanges, AnExchangeTakesAllTypes) {
  const lacuna_neighbour itself = {0, 0, 0};
  for (std::int32_t dtype = LACUNA_F32; dtype <= LACUNA_BYTES_64; ++dtype) {
    const std::array<char, 64> out = {1, 2, 3, 4};
    std::array<char, 64> in{};
    const lacuna_halo halo = {out.data(), 1, in.data(), 1, dtype};
    ASSERT_EQ(lacuna_exchange(rank_, &itself, &halo, 1, 0, nullptr, nullptr), LACUNA_OK) << lacuna_last_error();
    EXPECT_EQ(in[0], 1) << dtype;
  }
}

TEST_F(CExchanges, AnExchangeTellsWhereItsHalosLie) {
  const lacuna_neighbour itself = {0, 0, 0};
  const std::array<float, 3> out = {1, 2, 3};
  std::array<float, 3> in{};
  const lacuna_halo halo = {out.data(), 3, in.data(), 3, LACUNA_F32};
  const auto exchange = [&](const lacuna_memory* memory) {
    return lacuna_exchange_in(rank_, memory, &itself, &halo, 1, 0, nullptr, nullptr);
  };
  lacuna_memory memory = LACUNA_MEMORY_INIT;
  memory.kind = LACUNA_MEMORY_CUDA_HOST;  // is served as ordinary memory, which it may be where no device is
  ASSERT_EQ(exchange(&memory), LACUNA_OK) << lacuna_last_error();
  EXPECT_EQ(in, out);
  EXPECT_EQ(exchange(nullptr), LACUNA_OK);
  memory.kind = LACUNA_MEMORY_CUDA;  // there is no device, or the halos do not lie there
  EXPECT_NE(exchange(&memory), LACUNA_OK);
  EXPECT_TRUE(says("cuda memory")) << lacuna_last_error();
  memory.kind = 4;
  EXPECT_EQ(exchange(&memory), LACUNA_INVALID_ARGUMENT);
  EXPECT_TRUE(says("memory is 4")) << lacuna_last_error();
  memory.struct_size = sizeof memory + 1;
  EXPECT_EQ(exchange(&memory), LACUNA_INVALID_ARGUMENT);
  EXPECT_TRUE(says("struct_size")) << lacuna_last_error();
  EXPECT_EQ(exchange(nullptr), LACUNA_OK);
}

TEST_F(CExchanges, APreparedExchangeStartsAgain) {
  const lacuna_neighbour itself = {0, 0, 0};
  std::array<float, 3> out = {1, 2, 3}, in{};
  const lacuna_halo halo = {out.data(), 3, in.data(), 3, LACUNA_F32};
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.prepare = 1;
  EXPECT_EQ(lacuna_exchange(rank_, &itself, &halo, 1, 0, &options, nullptr), LACUNA_INVALID_ARGUMENT);
  lacuna_request* request = nullptr;
  ASSERT_EQ(lacuna_exchange(rank_, &itself, &halo, 1, 0, &options, &request), LACUNA_OK) << lacuna_last_error();
  EXPECT_EQ(in, (std::array<float, 3>{}));
  for (int round = 0; round < 5; ++round) {
    out[0] = static_cast<float>(round);
    ASSERT_EQ(lacuna_start(request), LACUNA_OK);
    ASSERT_EQ(lacuna_wait(request, -1), LACUNA_OK);
    EXPECT_EQ(in, out);
  }
  lacuna_request_free(request);
}

TEST_F(CExchanges, WhatAnExchangeCanNotBeIsRefused) {
  const lacuna_neighbour itself = {0, 0, 0};
  const lacuna_halo halo = {nullptr, 0, nullptr, 0, LACUNA_F32}, odd = {nullptr, 0, nullptr, 0, 99};
  EXPECT_EQ(lacuna_exchange(rank_, nullptr, &halo, 1, 0, nullptr, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_EQ(lacuna_exchange(rank_, &itself, nullptr, 1, 0, nullptr, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_EQ(lacuna_exchange(rank_, &itself, &odd, 1, 0, nullptr, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_TRUE(says("dtype is 99"));
  EXPECT_EQ(lacuna_exchange(rank_, &itself, &halo, 1, 65536, nullptr, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_TRUE(says("tag is 65536, must be 0 .. 65535"));
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "ring";
  EXPECT_EQ(lacuna_exchange(rank_, &itself, &halo, 1, 0, &options, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_TRUE(says("an exchange takes neither an algorithm nor a method"));
  EXPECT_EQ(lacuna_exchange(rank_, nullptr, nullptr, 0, 0, nullptr, nullptr), LACUNA_OK) << "there are no neighbours";
}

TEST_F(CExchanges, WaitsForSeveralTellWhichRequestHasEnded) {
  std::array<std::array<float, 4>, 3> rooms{};
  std::array<lacuna_request*, 4> requests{};  // the last one stays null
  for (std::size_t i = 0; i < 3; ++i) {
    lacuna_buffer room = LACUNA_BUFFER_INIT;
    room.data = rooms[i].data();
    room.count = i == 2 ? 1 : 4;
    ASSERT_EQ(lacuna_receive(rank_, &room, 0, static_cast<std::int32_t>(i), nullptr, nullptr, &requests[i]), LACUNA_OK);
  }
  Given given;
  std::size_t index = 99;
  EXPECT_EQ(lacuna_test_any(requests.data(), 4, &index), LACUNA_OK);
  EXPECT_EQ(index, 4u);
  EXPECT_EQ(lacuna_wait_any(requests.data(), 4, 0.01, &index), LACUNA_TIMED_OUT);
  EXPECT_EQ(index, 4u);
  ASSERT_EQ(lacuna_send(rank_, &given.input, 0, 1, nullptr, nullptr), LACUNA_OK);
  EXPECT_EQ(lacuna_wait_any(requests.data(), 4, -1, &index), LACUNA_OK);
  EXPECT_EQ(index, 1u);
  EXPECT_EQ(lacuna_wait_all(requests.data(), 4, 0.01, &index), LACUNA_TIMED_OUT);
  EXPECT_EQ(index, 0u);
  for (const std::int32_t tag : {0, 2}) {
    ASSERT_EQ(lacuna_send(rank_, &given.input, 0, tag, nullptr, nullptr), LACUNA_OK);
  }
  EXPECT_EQ(lacuna_wait_all(requests.data(), 4, -1, &index), LACUNA_MISMATCH);
  EXPECT_EQ(index, 2u);
  EXPECT_TRUE(says("request 2 of 4: the message from rank 0 with tag 2 has 4 elements"));
  EXPECT_EQ(lacuna_wait_all(requests.data(), 2, -1, &index), LACUNA_OK);
  EXPECT_EQ(index, 2u);
  EXPECT_EQ(lacuna_wait_all(nullptr, 1, -1, &index), LACUNA_INVALID_ARGUMENT);
  EXPECT_EQ(lacuna_wait_any(requests.data(), 4, -1, nullptr), LACUNA_INVALID_ARGUMENT);
  for (lacuna_request* request : requests) lacuna_request_free(request);
}

}  // namespace
}  // namespace lacuna
