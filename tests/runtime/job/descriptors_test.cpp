#include "runtime/job/descriptors.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <string>

#include "runtime/observe/log.hpp"
#include "tests/support/process.hpp"

namespace lacuna::runtime {
namespace {

using test::Process;

struct Case {
  Rank rank, size;
};

constexpr rlim_t too_few = 24;  // so many a rank needs beside those for other ranks
constexpr Case cases[] = {{0, 2}, {1, 2}, {0, 100}, {1, 100}, {99, 100}};

/// What check_descriptors() says to a rank that may have so many descriptors: its error, or else its warning, or "ok".
/// It runs in a new process, because the limit stays.
std::string said_with(rlim_t limit, Case rank) {
  Process alone([&](const Process::Say& say) {
    rlimit allowed{};
    ::getrlimit(RLIMIT_NOFILE, &allowed);
    allowed.rlim_cur = limit;
    ::setrlimit(RLIMIT_NOFILE, &allowed);
    std::string said = "ok";
    set_log_sink([](LogLevel, std::string_view text, void* user) { *static_cast<std::string*>(user) = text; }, &said);
    const Status status = check_descriptors(rank.rank, rank.size);
    say(status ? said : status.to_string());
  });
  return alone.line();
}

/// The number behind a word of a text.
rlim_t number_behind(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  EXPECT_NE(at, std::string::npos) << "'" << word << "' is not in '" << text << "'";
  return at == std::string::npos ? 0 : std::stoul(text.substr(at + word.size()));
}

bool is_error(const std::string& said) { return said.starts_with("invalid argument: "); }

TEST(Descriptors, AsManyAsTheErrorSaysAreEnoughAndOneLessIsNot) {
  for (const Case one : cases) {
    const rlim_t needed = number_behind(said_with(too_few, one), "needs ");
    EXPECT_TRUE(is_error(said_with(needed - 1, one))) << one.rank << " of " << one.size;
    EXPECT_FALSE(is_error(said_with(needed, one))) << one.rank << " of " << one.size;
  }
}

TEST(Descriptors, AsManyAsTheErrorAdvisesNeedNoWarningAndOneLessGetsOneThatSaysSo) {
  for (const Case one : cases) {
    const rlim_t advised = number_behind(said_with(too_few, one), "ulimit -n ");
    EXPECT_EQ(said_with(advised, one), "ok") << one.rank << " of " << one.size;
    const std::string warning = said_with(advised - 1, one);
    EXPECT_FALSE(is_error(warning)) << warning;
    EXPECT_EQ(number_behind(warning, "over TCP it needs "), advised);
  }
}

TEST(Descriptors, RankZeroNeedsOneForEachOtherRankAndTheOthersOneForRankZero) {
  for (const Rank size : {2, 3, 100}) {
    const rlim_t first = number_behind(said_with(too_few, {0, size}), "needs ");
    const rlim_t other = number_behind(said_with(too_few, {1, size}), "needs ");
    EXPECT_EQ(first - other, static_cast<rlim_t>(size - 2)) << size;
  }
}

}  // namespace
}  // namespace lacuna::runtime
