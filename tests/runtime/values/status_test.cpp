#include "runtime/values/status.hpp"

#include <gtest/gtest.h>

namespace lacuna {
namespace {

std::string text_of(const std::string& given) { return std::string(Status(Code::Io, given).message()); }

TEST(Status, KeepsTextsThatAreUtf8AsTheyAre) {
  for (const char* text : {"", "plain\ttext\n", "\xc3\xa9", "\xe2\x82\xac of \xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf",
                           "\xed\x9f\xbf", "\xee\x80\x80", "\xc2\x80", "\xe0\xa0\x80", "\xf0\x90\x80\x80"}) {
    EXPECT_EQ(text_of(text), text);
  }
}

TEST(Status, EscapesEachByteThatIsNotUtf8) {
  EXPECT_EQ(text_of("caf\xe9 is none"), "caf\\xe9 is none");
  EXPECT_EQ(text_of("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(text_of("\x80"), "\\x80") << "a byte that continues nothing";
  EXPECT_EQ(text_of("\xe2\x82"), "\\xe2\\x82") << "the end is missing";
  EXPECT_EQ(text_of("\xe2\x82z"), "\\xe2\\x82z") << "the third byte is missing";
  EXPECT_EQ(text_of("\xc1\xbf"), "\\xc1\\xbf") << "longer than needed";
  EXPECT_EQ(text_of("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf") << "longer than needed";
  EXPECT_EQ(text_of("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf") << "longer than needed";
  EXPECT_EQ(text_of("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(text_of("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last character";
  EXPECT_EQ(text_of("\xc3\xa9\xc3"), "\xc3\xa9\\xc3") << "what stands before it stays";
}

}  // namespace
}  // namespace lacuna
