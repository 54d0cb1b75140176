#include "runtime/values/option.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>
#include <set>

#include "runtime/method/method.hpp"

namespace lacuna {
namespace {

/// A method of this test. It has an option of each kind.
struct Given {
  bool flag = false;
  int whole = 3;
  double number = 0.5;
  std::vector<std::pair<std::uint32_t, int>> pairs{};
  int unused_without_flag = 7;
};

bool counts_with_flag(const void* options) { return static_cast<const Given*>(options)->flag; }

constexpr Option options[] = {
    option::of<&Given::flag>("flag", {0, 1}, nullptr, "a flag"),
    option::of<&Given::whole>("whole", {1, 9}, nullptr, "a whole number"),
    option::of<&Given::number>("number", {0.25, 2}, nullptr, "a number"),
    option::of<&Given::pairs>("pairs", {2, 5}, nullptr, "pairs"),
    option::of<&Given::unused_without_flag>("unused", {0, 9}, counts_with_flag, "counts with the flag only"),
};

const Method method = {.name = "method", .options = options, .make = option::make<Given>};

MethodOptions with(const Given& given) { return {method, std::make_shared<const Given>(given)}; }

/// Is `name=text` allowed?
bool takes(std::string_view name, std::string_view text) {
  Given given;
  return set_option("method", options, &given, name, text).is_ok();
}

TEST(OptionLimits, AreAllowedAndWhatIsBeyondThemIsNot) {
  const std::map<std::string_view, std::map<std::string_view, bool>> cases = {
      {"whole", {{"0", false}, {"1", true}, {"9", true}, {"10", false}, {"-1", false}, {"4294967297", false}}},
      {"number",
       {{"0.25", true},
        {"0.2499999999999999", false},
        {"2", true},
        {"2.0000000000000004", false},
        {"nan", false},
        {"inf", false}}},
      {"pairs",
       {{"2:2", true},
        {"5:5", true},
        {"1:2", false},
        {"6:2", false},
        {"2:1", false},
        {"2:6", false},
        {"2:2/1:2", false},
        {"3:2/2:2", false},
        {"3:2/3:2", false},
        {"3:2/3:4", false},
        {"3:2/4:2", true},
        {"2:2/3:2/3:3", false},
        {"2:2/3:2/4:3", true},
        {"2:2/2:6", false},
        {"1:2/2:2", false},
        {"2:2/5:5", true},
        {"4294967298:2", false}}},
      {"flag", {{"0", true}, {"1", true}, {"2", false}}},
  };
  for (const auto& [name, texts] : cases) {
    for (const auto& [text, allowed] : texts) EXPECT_EQ(takes(name, text), allowed) << name << "=" << text;
  }
}

TEST(OptionLimits, HoldForMembersThatTheProgramSets) {
  const std::array wrong = {Given{.whole = 0},
                            Given{.whole = 10},
                            Given{.number = 0.2},
                            Given{.number = 2.1},
                            Given{.pairs = {{1, 2}}},
                            Given{.pairs = {{6, 2}}},
                            Given{.pairs = {{2, 1}}},
                            Given{.pairs = {{2, 6}}},
                            Given{.number = std::numeric_limits<double>::quiet_NaN()},
                            Given{.number = std::numeric_limits<double>::infinity()},
                            Given{.pairs = {{2, 2}, {1, 2}}},
                            Given{.pairs = {{3, 2}, {2, 2}}},
                            Given{.pairs = {{3, 2}, {3, 2}}},
                            Given{.pairs = {{3, 2}, {4, 2}, {4, 3}}},
                            Given{.pairs = {{2, 2}, {2, 6}}}};
  for (const Given& given : wrong) {
    EXPECT_EQ(check_options("method", options, &given).code(), Code::InvalidArgument) << with(given).text();
  }
  const std::array right = {Given{}, Given{.whole = 1}, Given{.whole = 9}, Given{.pairs = {{2, 5}, {5, 2}}}};
  for (const Given& given : right) EXPECT_TRUE(check_options("method", options, &given));
}

TEST(OptionTexts, WhatDoesNotCountIsNeitherInTextsNorInDigests) {
  EXPECT_EQ(with({.unused_without_flag = 8}).text(), "method");
  EXPECT_EQ(with({.unused_without_flag = 8}).digest(), with({}).digest());
  EXPECT_EQ(with({.flag = true, .unused_without_flag = 8}).text(), "method:flag=1,unused=8");
  EXPECT_NE(with({.flag = true, .unused_without_flag = 8}).digest(), with({.flag = true}).digest());
}

TEST(OptionTexts, WhateverCountsIsInTextsAndDigests) {
  const std::array all = {Given{},
                          Given{.flag = true},
                          Given{.whole = 4},
                          Given{.number = 0.75},
                          Given{.pairs = {{2, 3}}},
                          Given{.pairs = {{3, 2}}},
                          Given{.pairs = {{2, 3}, {2, 3}}}};
  std::set<std::string> texts;
  std::set<std::uint64_t> digests;
  for (const Given& given : all) {
    texts.insert(with(given).text());
    digests.insert(with(given).digest());
  }
  EXPECT_EQ(texts.size(), all.size());
  EXPECT_EQ(digests.size(), all.size());
}

}  // namespace
}  // namespace lacuna
