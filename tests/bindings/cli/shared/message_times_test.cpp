#include "bindings/cli/shared/message_times.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/environment.hpp"

namespace lacuna::cli {
namespace {

const TimeCurve curve{.points = {{10, 1}, {1000, 100}, {100'000, 1000}}};
const MessageTimes times{
    .ranks = 4, .processors = 4, .from = {}, .messages = curve, .rows = {{{10, 0.5}}}, .copies = {{{20, 3}}}};

TEST(TimeCurve, BetweenThePointsIsAPowerOfTheSize) {
  EXPECT_DOUBLE_EQ(curve.seconds(10), 1);
  EXPECT_DOUBLE_EQ(curve.seconds(1000), 100);
  EXPECT_DOUBLE_EQ(curve.seconds(100), 10) << "from 10 to 1000 the time grows like the size";
  EXPECT_DOUBLE_EQ(curve.seconds(10'000), 316.22776601683796) << "and further on like its root";
}

TEST(TimeCurve, BeyondThePointsIsThatOfTheFirstAndInProportionToTheLast) {
  EXPECT_DOUBLE_EQ(curve.seconds(1), 1);
  EXPECT_DOUBLE_EQ(curve.seconds(300'000), 3000);
}

TEST(MessageTimes, KnowWhichShareOfAProcessorARankHad) {
  MessageTimes measured = times;
  measured.ranks = 8;
  EXPECT_DOUBLE_EQ(measured.share(), 0.5) << "two ranks shared a processor";
  measured.ranks = 2;
  EXPECT_DOUBLE_EQ(measured.share(), 1);
}

TEST(MessageTimes, AreReadAsTheyWereWritten) {
  const test::Folder folder;
  const std::string path = (folder.path() / "times.json").string();
  std::ofstream(path) << json_text(times.json());
  const auto read = MessageTimes::read(path);
  ASSERT_TRUE(read) << read.status().to_string();
  EXPECT_EQ(read->ranks, 4);
  EXPECT_EQ(read->processors, 4);
  EXPECT_EQ(read->from, path);
  ASSERT_EQ(read->messages.points.size(), 3u);
  EXPECT_EQ(read->messages.points[2].bytes, 100'000);
  EXPECT_EQ(read->messages.points[2].seconds, 1000);
  ASSERT_EQ(read->rows.points.size(), 1u);
  EXPECT_EQ(read->rows.points[0].seconds, 0.5);
  ASSERT_EQ(read->copies.points.size(), 1u);
  EXPECT_EQ(read->copies.points[0].seconds, 3);
}

TEST(MessageTimes, WithoutRowsOrCopiesTakeTheTimesOfMessagesForThem) {
  const test::Folder folder;
  const std::string path = (folder.path() / "times.json").string();
  std::ofstream(path) << R"({"ranks": 2, "processors": 2, "messages": [{"bytes": 8, "seconds": 3}]})";
  const auto read = MessageTimes::read(path);
  ASSERT_TRUE(read) << read.status().to_string();
  EXPECT_EQ(read->rows.seconds(8), 3);
  EXPECT_EQ(read->copies.seconds(8), 3);
}

TEST(MessageTimes, OfAnotherFileAreRefusedWithTheReason) {
  const test::Folder folder;
  const std::string path = (folder.path() / "times.json").string();
  const auto why = [&](const std::string& text) {
    std::ofstream(path) << text;
    const auto read = MessageTimes::read(path);
    EXPECT_FALSE(read) << text;
    return std::string(read.status().message());
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  EXPECT_TRUE(has(why("no JSON"), "is no file of `lacuna tune`"));
  EXPECT_TRUE(has(why(R"({"ranks": 2, "processors": 2})"), "'messages' not found"));
  EXPECT_TRUE(has(why(R"({"ranks": 1, "processors": 2, "messages": []})"), "ranks must be at least 2"));
  EXPECT_TRUE(has(why(R"({"ranks": 2, "processors": 2, "messages": []})"), "messages is empty"));
  EXPECT_TRUE(has(why(R"({"ranks": 2, "processors": 2, "messages": [{"bytes": 8, "seconds": 0}]})"),
                  "0 seconds for 8 bytes; must be more than 0"));
  EXPECT_TRUE(has(why(R"({"ranks": 2, "processors": 2, "messages": [{"bytes": 8, "seconds": 1},
                                                                    {"bytes": 8, "seconds": 1}]})"),
                  "8 bytes follow 8; sizes must grow"));
  EXPECT_TRUE(has(why(R"({"ranks": 2, "processors": 2, "messages": [{"bytes": 8, "seconds": 1}], "rows": []})"),
                  "rows is empty"));
  EXPECT_FALSE(MessageTimes::read((folder.path() / "missing").string()));
}

TEST(MessageTimes, OfTheReferenceGrowWithTheSize) {
  const MessageTimes& reference = MessageTimes::of_reference();
  for (double bytes = 8; bytes < 1e9; bytes *= 2) {
    EXPECT_GE(reference.messages.seconds(2 * bytes), reference.messages.seconds(bytes)) << bytes;
    EXPECT_GE(reference.rows.seconds(2 * bytes), reference.rows.seconds(bytes)) << bytes;
    EXPECT_GE(reference.copies.seconds(2 * bytes), reference.copies.seconds(bytes)) << bytes;
  }
}

}  // namespace
}  // namespace lacuna::cli
