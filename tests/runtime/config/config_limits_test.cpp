#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>

#include "runtime/config/config_types.hpp"

namespace lacuna::runtime {
namespace {

/// A value, and whether it is allowed.
using Cases = std::map<std::string, bool>;

template <class Type>
void expect_allowed(const Cases& cases) {
  for (const auto& [text, allowed] : cases) EXPECT_EQ(Type::parse(text).has_value(), allowed) << "\"" << text << "\"";
}

TEST(ConfigLimits, BytesEndWhereTheyCanNotBeCounted) {
  const Cases cases = {{"18446744073709551615", true},
                       {"18446744073709551616", false},
                       {"18014398509481983K", true},
                       {"18014398509481984K", false},
                       {"18014398509481985K", false},
                       {"17592186044415M", true},
                       {"17592186044416M", false},
                       {"17592186044417M", false},
                       {"17179869183G", true},
                       {"17179869184G", false},
                       {"17179869185G", false},
                       {"18446744073709551615G", false},
                       {"-1K", false},
                       {"", false},
                       {"G", false}};
  expect_allowed<variable::Bytes>(cases);
  expect_allowed<variable::PositiveBytes>(cases);
  EXPECT_EQ(variable::Bytes::parse("17179869183G"), std::size_t{17179869183} << 30);
  EXPECT_TRUE(variable::Bytes::parse("0K"));
  EXPECT_FALSE(variable::PositiveBytes::parse("0K"));
}

TEST(ConfigLimits, NumbersAreAllowedUpToTheLimitsThatTheirTextsName) {
  expect_allowed<variable::Count>({{"0", false}, {"1", true}, {"1048576", true}, {"1048577", false}, {"-1", false}});
  expect_allowed<variable::OptionalInteger>({{"0", true}, {"-1", false}, {"2147483647", true}, {"2147483648", false}});
  expect_allowed<variable::Microseconds>({{"0", true}, {"1000000", true}, {"1000001", false}, {"-1", false}});
  expect_allowed<variable::Seconds>(
      {{"0", false}, {"-0.0", false}, {"1e-9", true}, {"1000000000", true}, {"1000000000.1", false}});
  expect_allowed<variable::HostPort>({{"a:0", false},
                                      {"a:1", true},
                                      {"a:65535", true},
                                      {"a:65536", false},
                                      {"a:65537", false},
                                      {"a:4294967297", false}});
  expect_allowed<variable::HostName>({{std::string(255, 'a'), true}, {std::string(256, 'a'), false}});
}

}  // namespace
}  // namespace lacuna::runtime
