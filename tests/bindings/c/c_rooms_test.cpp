// Times and memory that a C program gives, at their limits.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "tests/bindings/c/c_given.hpp"
#include "tests/support/environment.hpp"

namespace lacuna {
namespace {

using test::Given;

class CRooms : public test::OneCRank {};

TEST(CDeadlines, BelowAMillisecondAreDeadlinesToo) {
  const test::Variable far("LACUNA_DEADLINE", "1000");
  for (const double seconds : {1e-9, 0.0004, 0.0015}) {
    lacuna_communicator* rank = nullptr;
    ASSERT_EQ(lacuna_join(nullptr, &rank), LACUNA_OK);
    Given given;
    given.options.deadline = seconds;
    lacuna_request* request = nullptr;
    ASSERT_EQ(lacuna_receive(rank, &given.output, 0, 0, &given.options, nullptr, &request), LACUNA_OK);
    EXPECT_EQ(lacuna_wait(request, 5), LACUNA_TIMED_OUT);
    EXPECT_NE(std::string(lacuna_last_error()).find("the deadline has passed on rank 0"), std::string::npos)
        << seconds << " s: " << lacuna_last_error();
    lacuna_request_free(request);
    lacuna_communicator_free(rank);
  }
}

TEST(CDeadlines, MayBeNever) {
  const test::Variable soon("LACUNA_DEADLINE", "0.001");
  lacuna_communicator* rank = nullptr;
  ASSERT_EQ(lacuna_join(nullptr, &rank), LACUNA_OK);
  Given given;
  given.options.deadline = std::numeric_limits<double>::infinity();
  lacuna_request* request = nullptr;
  ASSERT_EQ(lacuna_receive(rank, &given.output, 0, 0, &given.options, nullptr, &request), LACUNA_OK);
  EXPECT_EQ(lacuna_wait(request, 0.05), LACUNA_TIMED_OUT);
  EXPECT_EQ(lacuna_send(rank, &given.input, 0, 0, nullptr, nullptr), LACUNA_OK);
  EXPECT_EQ(lacuna_wait(request, std::numeric_limits<double>::infinity()), LACUNA_OK) << lacuna_last_error();
  lacuna_request_free(request);
  lacuna_communicator_free(rank);
}

TEST_F(CRooms, TimeoutsOfWaitsHaveMicroseconds) {
  Given given;
  lacuna_request* request = nullptr;
  ASSERT_EQ(lacuna_receive(rank_, &given.output, 0, 0, nullptr, nullptr, &request), LACUNA_OK);
  std::size_t index = 0;
  EXPECT_EQ(lacuna_wait(request, 2.5e-4), LACUNA_TIMED_OUT);
  EXPECT_EQ(std::string(lacuna_last_error()).substr(0, 20), "0.25 ms have passed:");
  EXPECT_EQ(lacuna_wait_all(&request, 1, 1e-9, &index), LACUNA_TIMED_OUT);
  EXPECT_EQ(std::string(lacuna_last_error()).substr(0, 21), "0.001 ms have passed:");
  EXPECT_EQ(lacuna_send(rank_, &given.input, 0, 0, nullptr, nullptr), LACUNA_OK);
  lacuna_request_free(request);
}

/// Makes an allreduce of lists of entries on one rank.
lacuna_status reduce_lists(lacuna_communicator* rank, Given& given, const char* method, const char* options,
                           const lacuna_entries& input, const lacuna_entries& output) {
  lacuna_method* made = nullptr;
  EXPECT_EQ(lacuna_method_create(method, options, &made), LACUNA_OK) << lacuna_last_error();
  given.options.method = made;
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_ALLREDUCE;
  call.input = &given.input;
  call.output = &given.output;
  call.input_entries = &input;
  call.output_entries = &output;
  const lacuna_status status = lacuna_execute(rank, &call, &given.options, nullptr);
  lacuna_method_free(made);
  return status;
}

/// Makes an allreduce of entries on one rank, with room for that many entries.
lacuna_status reduce_entries(lacuna_communicator* rank, std::size_t length, std::size_t room, std::size_t& found) {
  std::array<std::uint32_t, 3> places = {1, 5, 7};
  std::array<float, 3> values = {1, 2, 3};
  std::vector<std::uint32_t> sum_places(room + 1);
  std::vector<float> sums(room + 1);
  Given given;
  given.input.data = values.data();
  given.input.count = values.size();
  given.output.data = sums.data();
  given.output.count = room;
  return reduce_lists(rank, given, "topk", "density=1,feedback=0",
                      {sizeof(lacuna_entries), places.data(), length, nullptr},
                      {sizeof(lacuna_entries), sum_places.data(), length, &found});
}

TEST_F(CRooms, RoomForEntriesIsNotTheLengthOfTheData) {
  for (const std::size_t room : {std::size_t{3}, std::size_t{4}, std::size_t{19}, std::size_t{20}, std::size_t{30}}) {
    std::size_t found = 99;
    EXPECT_EQ(reduce_entries(rank_, 20, room, found), LACUNA_OK) << lacuna_last_error();
    EXPECT_EQ(found, 3u) << "in room for " << room;
  }
}

TEST_F(CRooms, EntriesThatDoNotFitIntoTheirRoomAreAnError) {
  std::size_t found = 99;
  EXPECT_NE(reduce_entries(rank_, 20, 2, found), LACUNA_OK);
  EXPECT_NE(std::string(lacuna_last_error()).find("3 entries, the output has room for 2"), std::string::npos)
      << lacuna_last_error();
}

/// Makes an allreduce of rows of three numbers on one rank. Says how many numbers the buffers have.
lacuna_status reduce_rows(lacuna_communicator* rank, std::size_t given_numbers, std::size_t room,
                          std::array<std::uint32_t, 2>& places, std::array<float, 6>& sums, std::size_t& found) {
  std::array<std::uint32_t, 3> rows = {5, 1, 5};
  std::array<float, 9> values = {1, 2, 3, 4, 5, 6, 10, 20, 30};
  Given given;
  given.input.data = values.data();
  given.input.count = given_numbers;
  given.output.data = sums.data();
  given.output.count = room;
  return reduce_lists(rank, given, "blocks", "block=3", {sizeof(lacuna_entries), rows.data(), 18, nullptr},
                      {sizeof(lacuna_entries), places.data(), 18, &found});
}

TEST_F(CRooms, EntriesOfBlocksAreRows) {
  std::array<std::uint32_t, 2> places{};
  std::array<float, 6> sums{};
  std::size_t found = 99;
  ASSERT_EQ(reduce_rows(rank_, 9, 6, places, sums, found), LACUNA_OK) << lacuna_last_error();
  EXPECT_EQ(found, 2u);
  EXPECT_EQ(places, (std::array<std::uint32_t, 2>{1, 5}));
  EXPECT_EQ(sums, (std::array<float, 6>{4, 5, 6, 11, 22, 33}));
}

TEST_F(CRooms, ARowIsThereAsAWholeOrNotAtAll) {
  std::array<std::uint32_t, 2> places{};
  std::array<float, 6> sums{};
  std::size_t found = 99;
  EXPECT_EQ(reduce_rows(rank_, 8, 6, places, sums, found), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(),
               "the input holds entries of 3 elements: its count is 8, must be a multiple of that");
  EXPECT_EQ(reduce_rows(rank_, 9, 5, places, sums, found), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(),
               "the output holds entries of 3 elements: its count is 5, must be a multiple of that");
  EXPECT_NE(reduce_rows(rank_, 9, 3, places, sums, found), LACUNA_OK);
  EXPECT_NE(std::string(lacuna_last_error()).find("2 entries, the output has room for 1"), std::string::npos)
      << lacuna_last_error();
}

}  // namespace
}  // namespace lacuna
