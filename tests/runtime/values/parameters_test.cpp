#include "runtime/values/parameters.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace lacuna {
namespace {

enum class Colour : std::uint8_t { Red = 0, Green = 1 };
constexpr std::string_view colour_names[] = {"red", "green"};

}  // namespace

template <>
inline constexpr std::span<const std::string_view> names_of<Colour>{colour_names};

namespace {

struct Small {
  bool flag = false;
  int count = 3;
  friend bool operator==(const Small&, const Small&) = default;
};
struct Large : Small {
  using Base = Small;
  Colour colour = Colour::Red;
  double share = 0.5;
  friend bool operator==(const Large&, const Large&) = default;
};
struct Other {
  int count = 3;
  friend bool operator==(const Other&, const Other&) = default;
};
constexpr Parameter of_small[] = {parameter::of<&Small::flag>("flag", {0, 1}, "a flag"),
                                  parameter::of<&Small::count>("count", {-1, 9}, "a number")};
constexpr Parameter of_large[] = {parameter::of<&Large::colour>("colour", {}, "a choice"),
                                  parameter::of<&Large::share>("share", {0, 1}, "a share")};
constexpr Parameter of_other[] = {parameter::of<&Other::count>("count", {0, 9}, "a number")};

}  // namespace

template <>
inline constexpr std::span<const Parameter> declared_parameters<Small>{of_small};
template <>
inline constexpr std::span<const Parameter> declared_parameters<Large>{of_large};
template <>
inline constexpr std::span<const Parameter> declared_parameters<Other>{of_other};

namespace {

Large large(bool flag, int count, Colour colour, double share) {
  Large values;
  values.flag = flag;
  values.count = count;
  values.colour = colour;
  values.share = share;
  return values;
}

std::uint64_t digest_of(const Parameters& parameters) {
  Digest digest;
  parameters.add_to(digest);
  return digest.value();
}

TEST(Parameters, GiveBackTheStructThatMadeThem) {
  const Large given = large(true, -1, Colour::Green, 0.25);
  EXPECT_EQ(Parameters(given).as<Large>(), given);
  EXPECT_EQ(Parameters(given).as<Small>(), (Small{.flag = true, .count = -1}));
}

TEST(Parameters, OfDefaultsAreEqualToNone) {
  EXPECT_TRUE(Parameters(Large()).are_defaults());
  EXPECT_EQ(Parameters(Large()), Parameters());
  EXPECT_EQ(Parameters(Small()), Parameters(Other()));
  EXPECT_EQ(digest_of(Small()), digest_of({}));
  EXPECT_EQ(Parameters().as<Small>(), Small());
  EXPECT_EQ(Parameters().text(), "");
}

TEST(Parameters, OfAnotherStructAreNotEqualAndReadAsDefaults) {
  EXPECT_NE(Parameters(Small{.count = 4}), Parameters(Other{.count = 4}));
  EXPECT_NE(Parameters(Small{.count = 4}), Parameters(large(false, 4, Colour::Red, 0.5)));
  EXPECT_EQ(Parameters(Other{.count = 4}).as<Small>(), Small());
  EXPECT_EQ(Parameters(Small{.count = 4}).as<Large>(), Large());
  EXPECT_TRUE(Parameters(Small{.count = 4}).belong_to(&parameter_set<Small>));
  EXPECT_FALSE(Parameters(Small{.count = 4}).belong_to(&parameter_set<Other>));
}

TEST(Parameters, AreEqualWhateverStoodInTheirPadding) {
  alignas(Large) std::byte zeros[sizeof(Large)], ones[sizeof(Large)];
  std::memset(zeros, 0, sizeof zeros);
  std::memset(ones, 0xff, sizeof ones);
  auto* first = new (zeros) Large;
  auto* second = new (ones) Large;
  first->count = second->count = 7;
  EXPECT_EQ(Parameters(*first), Parameters(*second));
  EXPECT_EQ(digest_of(*first), digest_of(*second));
}

TEST(Parameters, DigestTellsEachOfThemApart) {
  const std::vector<Large> all = {
      large(false, 3, Colour::Red, 0.25),  large(true, 3, Colour::Red, 0.5),
      large(false, 4, Colour::Red, 0.5),   large(false, -1, Colour::Red, 0.5),
      large(false, 3, Colour::Green, 0.5), large(false, 3, Colour::Red, std::nextafter(0.5, 1.0))};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j) {
      EXPECT_EQ(digest_of(all[i]) == digest_of(all[j]), i == j) << i << " and " << j;
    }
  }
}

TEST(Parameters, TextNamesThoseThatAreNotDefaultsTheBaseFirst) {
  EXPECT_EQ(Parameters(large(true, 3, Colour::Green, 0.5)).text(), "flag=1,colour=green");
  EXPECT_EQ(Parameters(large(false, -1, Colour::Red, 0.25)).text(), "count=-1,share=0.25");
}

TEST(Parameters, AreSetByNameAndText) {
  Parameters some;
  EXPECT_TRUE(some.set(parameter_set<Large>, "count", "9"));
  EXPECT_TRUE(some.set(parameter_set<Large>, "colour", "green"));
  EXPECT_EQ(some, Parameters(large(false, 9, Colour::Green, 0.5)));
  EXPECT_TRUE(some.set(parameter_set<Large>, "count", "3"));
  EXPECT_TRUE(some.set(parameter_set<Large>, "colour", "red"));
  EXPECT_TRUE(some.are_defaults());
}

TEST(Parameters, WhatCannotBeSetIsNamedWithWhatIsAllowedAndChangesNothing) {
  Parameters some = large(true, 3, Colour::Red, 0.5);
  const Parameters before = some;
  EXPECT_EQ(some.set(parameter_set<Large>, "count", "10").message(), "count is 10, must be -1 .. 9");
  EXPECT_EQ(some.set(parameter_set<Large>, "colour", "gren").message(),
            "colour is gren, must be red or green (did you mean green?)");
  EXPECT_EQ(some.set(parameter_set<Large>, "colur", "red").message(),
            "the program has no parameter 'colur' (did you mean colour?); it has flag, count, colour, share");
  EXPECT_EQ(some, before);
}

}  // namespace
}  // namespace lacuna
