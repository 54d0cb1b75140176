#include "bindings/cli/shared/quantities.hpp"

#include <gtest/gtest.h>

namespace lacuna::cli::quantity {
namespace {

TEST(Quantities, SizesCountInPowersOf1024) {
  EXPECT_EQ(Size::parse("0"), 0u);
  EXPECT_EQ(Size::parse("8"), 8u);
  EXPECT_EQ(Size::parse("8B"), 8u);
  for (const char* text : {"64K", "64k", "64KB", "64kb", "64KiB", "64 KiB", "65536"}) {
    EXPECT_EQ(Size::parse(text), 65536u) << text;
  }
  EXPECT_EQ(Size::parse("1.5M"), 1572864u);
  EXPECT_EQ(Size::parse("1T"), std::size_t{1} << 40);
  for (const char* text :
       {"", "K", "-5", "-0", "1x", "1.3", "1.0001K", "2T", "1Mi B", "inf", "nan", " 1", "1  ", "1K K"}) {
    EXPECT_EQ(Size::parse(text), std::nullopt) << text;
  }
}

TEST(Quantities, RatesAreReadAsNetworkDevicesCountThem) {
  for (const char* text : {"1gbit", "1Gbit", "1 Gbit/s", "1000mbit", "125MB/s", "125 MB", "125e6", "125000000B/s"}) {
    EXPECT_EQ(Rate::parse(text), 125e6) << text;
  }
  EXPECT_EQ(Rate::parse("8bit"), 1.0);
  EXPECT_EQ(Rate::parse("8kbit"), 1e3);
  EXPECT_EQ(Rate::parse("2tbit"), 250e9);
  EXPECT_EQ(Rate::parse("3kB"), 3e3);
  for (const char* text : {"", "0", "0gbit", "-1gbit", "1gbits", "1Gb/s", "1mb", "1gbit/", "gbit", "1/s/s", "inf"}) {
    EXPECT_EQ(Rate::parse(text), std::nullopt) << text;
  }
}

TEST(Quantities, TimesHaveUnitsOrAreSeconds) {
  EXPECT_EQ(Duration::parse("20us"), 20 * 1e-6);
  EXPECT_EQ(Duration::parse("20 us"), 20 * 1e-6);
  EXPECT_EQ(Duration::parse("1.5ms"), 1.5 * 1e-3);
  EXPECT_EQ(Duration::parse("3ns"), 3 * 1e-9);
  EXPECT_EQ(Duration::parse("2s"), 2.0);
  EXPECT_EQ(Duration::parse("20e-6"), 20e-6);
  for (const char* text : {"", "0", "0us", "-1us", "us", "1m", "1US", "1us2", "nan"}) {
    EXPECT_EQ(Duration::parse(text), std::nullopt) << text;
  }
}

TEST(Quantities, SharesArePercentOrFractions) {
  EXPECT_EQ(Share::parse("10%"), 10 * 0.01);
  EXPECT_EQ(Share::parse("0.1"), 0.1);
  EXPECT_EQ(Share::parse("0"), 0.0);
  EXPECT_EQ(Share::parse("250%"), 2.5);
  for (const char* text : {"", "%", "-10%", "10%%", "10p", "nan"}) EXPECT_EQ(Share::parse(text), std::nullopt) << text;
}

TEST(Quantities, TextsHaveTheUnitThatSuitsThem) {
  EXPECT_EQ(Size::text(0), "0");
  EXPECT_EQ(Size::text(8), "8");
  EXPECT_EQ(Size::text(1023), "1023");
  EXPECT_EQ(Size::text(33554432), "32M");
  EXPECT_EQ(Size::text(std::size_t{1} << 40), "1T");
  EXPECT_EQ(Rate::text(125e6), "1gbit");
  EXPECT_EQ(Rate::text(0.01), "0.08bit");
  EXPECT_EQ(Duration::text(12.52e-6), "12.52 us");
  EXPECT_EQ(Duration::text(20e-6), "20 us");
  EXPECT_EQ(Duration::text(999.96e-6), "1 ms");
  EXPECT_EQ(Duration::text(999.94e-6), "999.9 us");
  EXPECT_EQ(Duration::text(15.1e-3), "15.1 ms");
  EXPECT_EQ(Duration::text(0.99996), "1 s");
  EXPECT_EQ(Duration::text(75.5), "75.5 s");
  EXPECT_EQ(Share::text(0.1), "10%");
  EXPECT_EQ(Share::text(0.005), "0.5%");
}

template <class Quantity, class Value = typename Quantity::Value>
void expect_read_back(Value value) {
  const std::string text = Quantity::text(value);
  const auto read = Quantity::parse(text);
  ASSERT_TRUE(read) << text;
  EXPECT_EQ(Quantity::text(*read), text);
}

TEST(Quantities, TextsAreReadBack) {
  for (std::size_t bytes : {0, 1, 8, 1000, 1024, 1536, 1 << 30}) expect_read_back<Size>(bytes);
  for (double value : {1e-8, 20e-6, 1.5e-3, 0.7, 3.0, 1234.0}) {
    expect_read_back<Duration>(value);
    expect_read_back<Rate>(value * 1e6);
    expect_read_back<Share>(value);
  }
}

}  // namespace
}  // namespace lacuna::cli::quantity
