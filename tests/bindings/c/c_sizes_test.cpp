// Structures that the C interface fills, in all sizes that an older or newer program may give them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include "bindings/c/lacuna_skip.h"
#include "tests/bindings/c/c_given.hpp"

namespace lacuna {
namespace {

using test::Given;

/// One call of a method whose state has an array. It has a report and measures importance.
class CSizes : public test::OneCRank {
 protected:
  CSizes() {
    const lacuna_skip_segment whole{0, 4, LACUNA_POLICY_AUTOMATIC};
    EXPECT_EQ(lacuna_skip_create("steps=1,small=0", &whole, 1, &skip_), LACUNA_OK) << lacuna_last_error();
    EXPECT_EQ(lacuna_state_create(skip_, 1, 2, &measured_), LACUNA_OK);
    EXPECT_EQ(lacuna_method_create("topk", "k=1", &topk_), LACUNA_OK) << lacuna_last_error();
    EXPECT_EQ(lacuna_state_create(topk_, 1, 2, &state_), LACUNA_OK);
    given_.options.method = skip_;
    given_.options.state = measured_;
    reduce(nullptr);
    given_.options.method = topk_;
    given_.options.state = state_;
    reduce(&request_);
    EXPECT_EQ(lacuna_wait(request_, 20), LACUNA_OK) << lacuna_last_error();
  }
  ~CSizes() override {
    lacuna_request_free(request_);
    lacuna_state_free(state_);
    lacuna_method_free(topk_);
    lacuna_method_free(skip_);
    lacuna_state_free(measured_);
  }

  void reduce(lacuna_request** request) {
    EXPECT_EQ(execute_allreduce(rank_, &given_.input, &given_.output, LACUNA_SUM, &given_.options, request), LACUNA_OK)
        << lacuna_last_error();
  }

  Given given_;
  lacuna_method *skip_ = nullptr, *topk_ = nullptr;
  lacuna_state *state_ = nullptr, *measured_ = nullptr;
  lacuna_request* request_ = nullptr;
};

/// Memory for a T, with more memory behind it.
template <class T>
struct Filled {
  static constexpr unsigned char rubbish = 0xa5;

  explicit Filled(std::size_t size) {
    bytes.fill(rubbish);
    structure()->struct_size = size;
  }
  T* structure() { return reinterpret_cast<T*>(bytes.data()); }
  bool is_untouched_from(std::size_t begin) const {
    return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end(),
                       [](unsigned char byte) { return byte == rubbish; });
  }

  alignas(T) std::array<unsigned char, sizeof(T) + 64> bytes;
};

/// fill(T*) must write as much as struct_size says, whatever that is, and refuse sizes that can't be.
template <class T, class Fill>
void expect_no_more_than_its_size(const char* what, const Fill& fill) {
  for (std::size_t size = sizeof(std::size_t); size <= sizeof(T); ++size) {
    Filled<T> filled(size);
    ASSERT_EQ(fill(filled.structure()), LACUNA_OK) << what << " of " << size << ": " << lacuna_last_error();
    EXPECT_EQ(filled.structure()->struct_size, size) << what;
    EXPECT_TRUE(filled.is_untouched_from(size)) << what << " of " << size << " bytes is written beyond its end";
  }
  for (const std::size_t size : {std::size_t{0}, sizeof(std::size_t) - 1, sizeof(T) + 1,
                                 sizeof(T) + sizeof(std::size_t), std::numeric_limits<std::size_t>::max()}) {
    Filled<T> filled(size);
    EXPECT_EQ(fill(filled.structure()), LACUNA_INVALID_ARGUMENT) << what << " of " << size;
    EXPECT_NE(std::string(lacuna_last_error()).find("struct_size is " + std::to_string(size)), std::string::npos)
        << what << ": " << lacuna_last_error();
    EXPECT_TRUE(filled.is_untouched_from(sizeof(std::size_t))) << what << " of " << size << " was refused";
  }
}

TEST_F(CSizes, AStructureIsFilledUpToItsSizeAndNotBeyond) {
  expect_no_more_than_its_size<lacuna_counters>(
      "counters", [&](lacuna_counters* counters) { return lacuna_get_counters(rank_, counters); });
  expect_no_more_than_its_size<lacuna_report>(
      "a report", [&](lacuna_report* report) { return lacuna_get_report(request_, report); });
  expect_no_more_than_its_size<lacuna_state_values>(
      "values", [&](lacuna_state_values* values) { return lacuna_get_state(state_, values); });
  expect_no_more_than_its_size<lacuna_state_array>(
      "an array", [&](lacuna_state_array* array) { return lacuna_get_state_array(state_, 0, array); });
  expect_no_more_than_its_size<lacuna_segment_importance>("importance", [&](lacuna_segment_importance* segment) {
    return lacuna_skip_get_importance(measured_, 0, segment, nullptr);
  });
}

TEST(CListSizes, RowsOfListsAreFilledAsFarAsTheirSizeGoes) {
  expect_no_more_than_its_size<lacuna_dtype_row>(
      "a type of elements", [](lacuna_dtype_row* row) { return lacuna_list_dtypes(2, row, nullptr); });
  expect_no_more_than_its_size<lacuna_collective_row>(
      "a collective", [](lacuna_collective_row* row) { return lacuna_list_collectives(2, row, nullptr); });
  expect_no_more_than_its_size<lacuna_algorithm_row>(
      "an algorithm", [](lacuna_algorithm_row* row) { return lacuna_list_algorithms(2, row, nullptr); });
  expect_no_more_than_its_size<lacuna_method_row>(
      "a method", [](lacuna_method_row* row) { return lacuna_list_methods(1, row, nullptr); });
  expect_no_more_than_its_size<lacuna_option_row>(
      "an option", [](lacuna_option_row* row) { return lacuna_list_options("topk", 1, row, nullptr); });
  expect_no_more_than_its_size<lacuna_measure_row>(
      "a measure", [](lacuna_measure_row* row) { return lacuna_list_measures("topk", 1, row, nullptr); });
}

}  // namespace
}  // namespace lacuna
