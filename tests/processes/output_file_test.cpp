#include "tests/support/output_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "tests/support/process.hpp"

namespace lacuna::test {
namespace {

TEST(OutputFile, HoldsTheLinesOfAllProcessesThatWriteAtOnce) {
  constexpr std::size_t processes = 4;
  constexpr std::size_t lines = 2000;
  const OutputFile file;
  std::vector<Process> writers;
  for (std::size_t writer = 0; writer < processes; ++writer) {
    writers.emplace_back([&](const Process::Say&) {
      for (std::size_t line = 0; line < lines; ++line) {
        if (::write(file.fd(), "a line\n", 7) != 7) ::_exit(1);
      }
    });
  }
  for (Process& writer : writers) EXPECT_EQ(writer.wait(), 0);
  EXPECT_EQ(file.text().size(), processes * lines * 7);
}

}  // namespace
}  // namespace lacuna::test
