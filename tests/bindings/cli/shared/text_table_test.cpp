#include "bindings/cli/shared/text_table.hpp"

#include <gtest/gtest.h>

namespace lacuna::cli {
namespace {

TEST(TextTable, ColumnsAreAsWideAsTheirLongestCell) {
  EXPECT_EQ(text_table({{"a", "b", "c"}, {"long", "", "what it is"}}, no_width), "a     b  c\nlong     what it is\n");
}

TEST(TextTable, TheLastColumnIsWrappedBetweenWords) {
  const std::string words = "one two three four five six";
  EXPECT_EQ(text_table({{"key", words}}, 5 + 27), "key  one two three four five six\n") << "it fits exactly";
  EXPECT_EQ(text_table({{"key", words}}, 5 + 26), "key  one two three four five\n     six\n");
  EXPECT_EQ(text_table({{"key", words}}, 5 + 23), "key  one two three four five\n     six\n");
  EXPECT_EQ(text_table({{"key", words}}, 5 + 22), "key  one two three four\n     five six\n");
}

TEST(TextTable, TheLastColumnKeepsSomeRoomOnNarrowTerminals) {
  for (std::size_t width : {0, 4, 24}) {
    EXPECT_EQ(text_table({{"key", "one two three four five"}}, width), "key  one two three four\n     five\n") << width;
  }
}

TEST(TextTable, AWordThatIsTooLongStandsAlone) {
  const std::string word(30, 'x');
  EXPECT_EQ(text_table({{"k", "a " + word + " b"}}, 24), "k  a\n   " + word + "\n   b\n");
  EXPECT_EQ(text_table({{"k", word}}, 24), "k  " + word + "\n");
}

}  // namespace
}  // namespace lacuna::cli
