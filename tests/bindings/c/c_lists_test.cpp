// What the functions lacuna_list_...() tell, compared with the tables of the core.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "bindings/c/lacuna.h"

namespace lacuna {
namespace {

/// Returns all rows of a list. list(index, row, count) is one of the functions.
template <class Row, class List>
std::vector<Row> rows_of(const List& list) {
  std::size_t count = 0;
  EXPECT_EQ(list(0, static_cast<Row*>(nullptr), &count), LACUNA_OK) << lacuna_last_error();
  std::vector<Row> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i].struct_size = sizeof(Row);
    std::size_t again = 0;
    EXPECT_EQ(list(i, &rows[i], &again), LACUNA_OK) << lacuna_last_error();
    EXPECT_EQ(again, count);
    EXPECT_EQ(rows[i].struct_size, sizeof(Row));
  }
  Row beyond{};
  beyond.struct_size = sizeof(Row);
  EXPECT_EQ(list(count, &beyond, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_EQ(lacuna_last_error(), "index is " + std::to_string(count) + ", must be less than " + std::to_string(count));
  return rows;
}

TEST(CLists, OfTypesOfElementsHasNameAndBytesOfEach) {
  const auto rows = rows_of<lacuna_dtype_row>(lacuna_list_dtypes);
  ASSERT_EQ(rows.size(), all_dtypes.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].name, to_string(all_dtypes[i]));
    EXPECT_EQ(rows[i].dtype, static_cast<int>(i)) << rows[i].name;
    EXPECT_EQ(rows[i].dtype, static_cast<int>(all_dtypes[i])) << rows[i].name;
    EXPECT_EQ(rows[i].size, size_of(all_dtypes[i])) << rows[i].name;
  }
}

TEST(CLists, OfCollectivesHasTheTraitsOfEach) {
  const auto rows = rows_of<lacuna_collective_row>(lacuna_list_collectives);
  ASSERT_EQ(rows.size(), collective_traits.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CollectiveTraits& traits = collective_traits[i];
    EXPECT_EQ(rows[i].name, traits.name);
    EXPECT_EQ(rows[i].collective, static_cast<int>(traits.collective)) << traits.name;
    EXPECT_EQ(rows[i].input, static_cast<int>(traits.input)) << traits.name;
    EXPECT_EQ(rows[i].output, static_cast<int>(traits.output)) << traits.name;
    EXPECT_EQ(rows[i].input_at_root == 1, traits.reads == Having::Root) << traits.name;
    EXPECT_EQ(rows[i].output_at_root == 1, traits.writes == Having::Root) << traits.name;
    EXPECT_EQ(rows[i].reduces == 1, traits.reduces) << traits.name;
    EXPECT_EQ(rows[i].averages == 1, traits.averages) << traits.name;
    EXPECT_EQ(rows[i].lengths, static_cast<int>(traits.lengths)) << traits.name;
  }
}

TEST(CLists, OfAlgorithmsHasTheDenseOnesAndThoseOfEachMethod) {
  using Named = std::tuple<std::string, int, std::string, std::string>;
  std::vector<Named> expected, listed;
  for (const Algorithm* one : all_algorithms()) {
    expected.emplace_back(one->name, static_cast<int>(one->collective), "", one->summary);
  }
  for (const Method* method : all_methods()) {
    for (const MethodAlgorithm& one : method->algorithms) {
      expected.emplace_back(one.name, static_cast<int>(one.algorithm->collective), method->name, one.summary);
    }
  }
  for (const auto& row : rows_of<lacuna_algorithm_row>(lacuna_list_algorithms)) {
    listed.emplace_back(row.name, row.collective, row.method ? row.method : "", row.summary);
  }
  EXPECT_EQ(listed, expected);
}

TEST(CLists, OfMethodsHasAllOfThem) {
  const auto rows = rows_of<lacuna_method_row>(lacuna_list_methods);
  ASSERT_EQ(rows.size(), all_methods().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].name, all_methods()[i]->name);
    EXPECT_EQ(rows[i].summary, all_methods()[i]->summary);
    EXPECT_EQ(rows[i].takes_entries == 1, all_methods()[i]->entry_length != nullptr) << rows[i].name;
  }
}

TEST(CLists, OfOptionsHasNameTypeDefaultRangeAndHelpOfEach) {
  for (const Method* method : all_methods()) {
    const std::string name(method->name);
    const auto rows = rows_of<lacuna_option_row>([&](std::size_t index, lacuna_option_row* row, std::size_t* count) {
      return lacuna_list_options(name.c_str(), index, row, count);
    });
    ASSERT_EQ(rows.size(), method->options.size()) << name;
    const auto defaults = method->make(nullptr);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Option& option = method->options[i];
      EXPECT_EQ(rows[i].name, option.name);
      EXPECT_EQ(rows[i].help, option.help) << option.name;
      EXPECT_EQ(rows[i].type, static_cast<int>(option.kind)) << option.name;
      EXPECT_EQ(rows[i].initial, value_text(option.get(defaults.get()))) << option.name;
      EXPECT_EQ(rows[i].least, option.least) << option.name;
      EXPECT_EQ(rows[i].most, option.most) << option.name;
      EXPECT_EQ(rows[i].allowed, allowed_text(option)) << option.name;
      std::string choices;
      for (std::string_view choice : option.choices) choices += std::string(choice) + ",";
      EXPECT_EQ(rows[i].choices + std::string(option.choices.empty() ? "" : ","), choices) << option.name;
    }
  }
}

TEST(CLists, ADefaultOfTheListIsTakenAsTheOption) {
  for (const auto& method : rows_of<lacuna_method_row>(lacuna_list_methods)) {
    const auto options = rows_of<lacuna_option_row>([&](std::size_t index, lacuna_option_row* row, std::size_t* count) {
      return lacuna_list_options(method.name, index, row, count);
    });
    for (const auto& option : options) {
      if (std::string(option.initial).empty()) continue;  // the default is no pairs, which a text can't say
      lacuna_method* made = nullptr;
      const std::string text = std::string(option.name) + "=" + option.initial;
      EXPECT_EQ(lacuna_method_create(method.name, text.c_str(), &made), LACUNA_OK) << lacuna_last_error();
      lacuna_method_free(made);
    }
  }
}

TEST(CLists, OfMeasuresHasUnitAndHowEachAddsUp) {
  for (const Method* method : all_methods()) {
    const std::string name(method->name);
    const auto rows = rows_of<lacuna_measure_row>([&](std::size_t index, lacuna_measure_row* row, std::size_t* count) {
      return lacuna_list_measures(name.c_str(), index, row, count);
    });
    ASSERT_EQ(rows.size(), method->measures.size()) << name;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Measure& measure = *method->measures[i];
      EXPECT_EQ(rows[i].name, measure.name);
      EXPECT_EQ(rows[i].unit, to_string(measure.unit)) << measure.name;
      EXPECT_EQ(rows[i].adds_up, static_cast<int>(measure.adds_up)) << measure.name;
      EXPECT_EQ(rows[i].equal_on_ranks == 1, measure.by == CountedBy::Plan) << measure.name;
      EXPECT_EQ(rows[i].help, measure.help) << measure.name;
    }
  }
}

TEST(CLists, NumbersAreThoseOfTheCore) {
  EXPECT_EQ(LACUNA_HOLDS_BLOCKS, static_cast<int>(Holds::Blocks));
  EXPECT_EQ(LACUNA_HOLDS_DATA, static_cast<int>(Holds::Data));
  EXPECT_EQ(LACUNA_LENGTHS_AGREED, static_cast<int>(Lengths::Agreed));
  EXPECT_EQ(LACUNA_LENGTHS_OWN, static_cast<int>(Lengths::Told));
  EXPECT_EQ(LACUNA_FLAG, static_cast<int>(Option::Kind::Flag));
  EXPECT_EQ(LACUNA_INTEGER, static_cast<int>(Option::Kind::Integer));
  EXPECT_EQ(LACUNA_NUMBER, static_cast<int>(Option::Kind::Number));
  EXPECT_EQ(LACUNA_CHOICE, static_cast<int>(Option::Kind::Choice));
  EXPECT_EQ(LACUNA_PAIRS, static_cast<int>(Option::Kind::Pairs));
  EXPECT_EQ(LACUNA_ADDS_UP_LARGEST, static_cast<int>(AddsUp::Largest));
  EXPECT_EQ(LACUNA_ADDS_UP_LAST, static_cast<int>(AddsUp::Last));
  EXPECT_EQ(LACUNA_ADDS_UP_MEAN, static_cast<int>(AddsUp::Mean));
}

TEST(CLists, RefuseAMethodThatThereIsNot) {
  std::size_t count = 7;
  EXPECT_EQ(lacuna_list_options(nullptr, 0, nullptr, &count), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "method is null");
  EXPECT_EQ(lacuna_list_measures("skipp", 0, nullptr, &count), LACUNA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(lacuna_last_error()).find("did you mean skip?"), std::string::npos) << lacuna_last_error();
  EXPECT_EQ(lacuna_list_options("skip:steps=1", 0, nullptr, &count), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "method is 'skip:steps=1', must be a name without options");
  EXPECT_EQ(count, 7u);
}

}  // namespace
}  // namespace lacuna
