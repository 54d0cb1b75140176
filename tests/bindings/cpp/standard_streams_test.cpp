#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "bindings/cpp/lacuna.hpp"
#include "tests/support/process.hpp"

// A program that is started without some of its standard streams.
namespace lacuna::test {
namespace {

/// Says what has the numbers of the standard streams.
std::string streams() {
  std::string text;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status {};
    if (::fstat(stream, &status) != 0) {
      text += "closed ";
    } else {
      text += S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3) ? "null " : "other ";
    }
  }
  return text;
}

/// Closes the standard streams in a new process, carries out the body, and says what then has their numbers.
std::string streams_after(const std::function<std::shared_ptr<void>()>& body) {
  Process alone([&](const Process::Say& say) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
    const std::shared_ptr<void> kept = body();
    say(streams());
  });
  return alone.line();
}

TEST(StandardStreams, ThatAreClosedAreHeldByWhateverOpensDescriptors) {
  EXPECT_EQ(streams_after([] { return nullptr; }), "closed closed closed ");
  EXPECT_EQ(streams_after([] { return std::make_shared<Communicator>(); }), "null null null ");
  EXPECT_EQ(streams_after([] { return std::make_shared<Result<UniqueId>>(make_unique_id()); }), "null null null ");
  EXPECT_EQ(streams_after([] { return std::shared_ptr<void>(allocate(1 << 20), deallocate); }), "null null null ");
}

TEST(StandardStreams, OfRanksThatAreClosedTakeNoConnection) {
  const ReservedPort port;
  const auto rank = [&](Rank number) {
    return Process([&port, number](const Process::Say& say) {
      for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
      auto world = Communicator::world({.rank = number, .size = 2, .store = port.store(), .key = "of this test"});
      for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) static_cast<void>(!::write(stream, "printed", 7));
      const Status called = world ? world->call(barrier()) : world.status();
      say(called.to_string());
    });
  };
  Process first = rank(0), second = rank(1);
  EXPECT_EQ(first.line(), "ok");
  EXPECT_EQ(second.line(), "ok");
}

}  // namespace
}  // namespace lacuna::test
