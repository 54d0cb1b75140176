#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "bindings/cli/launch/child.hpp"
#include "runtime/job/socket.hpp"

namespace lacuna::cli {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
  Fd read, write;
};

/// Returns that many bytes. Each byte differs from the one that lies a pipe's length before it.
std::string text_of(std::size_t length) {
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('!' + i % 89);
  return text;
}

/// Returns all that can be read until the other end closes.
std::string all_of(const Fd& from) {
  std::string text;
  char chunk[512];
  while (true) {
    runtime::wait_for(from.get(), POLLIN, runtime::Clock::time_point::max());
    const ssize_t count = ::read(from.get(), chunk, sizeof chunk);
    if (count <= 0) return text;
    text.append(chunk, static_cast<std::size_t>(count));
  }
}

/// Returns what a reader gets of a line of this length over a pipe that takes that many bytes at a time.
std::string copied(std::size_t length, int room) {
  Pipe from, to;
  const int holds = ::fcntl(to.write.get(), F_SETPIPE_SZ, room);
  EXPECT_EQ(holds, room);
  std::string got;
  std::thread reader([&] { got = all_of(to.read); });
  LineCopier copier(std::move(from.read), to.write.get(), "[7] ");
  const std::string line = text_of(length) + "\n";
  EXPECT_EQ(::write(from.write.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  from.write.close();
  copier.finish();
  to.write.close();
  reader.join();
  return got;
}

TEST(LineCopier, LinesOfAnyLengthArriveWholeThroughAPipeThatTakesAPartOfThemAtATime) {
  constexpr int room = 4096;
  constexpr std::size_t beside = 5;  // the prefix and the line break
  for (const std::size_t bytes : {8ul, room - 1ul, room + 0ul, room + 1ul, 3ul * room, 15ul * room + 1}) {
    const std::size_t length = bytes - beside;
    EXPECT_TRUE(copied(length, room) == "[7] " + text_of(length) + "\n") << bytes << " bytes";
  }
}

}  // namespace
}  // namespace lacuna::cli
