#include "transports/mapped_segment.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string>

#include "tests/support/process.hpp"

namespace lacuna::test {
namespace {

TEST(MappedSegment, StaysReadableAfterItsOwnerWasKilled) {
  Process owner([](const Process::Say& say) {
    MappableHeap heap;
    std::byte* const memory = heap.take(1 << 20);
    std::memset(memory, 7, 1 << 20);
    const MappableSegment segment = heap.segment(0);
    say(std::to_string(segment.descriptor) + " " + std::to_string(segment.device) + " " +
        std::to_string(segment.inode) + " " + std::to_string(segment.bytes));
    for (;;) ::pause();
  });
  std::istringstream told(owner.line());
  MappableSegment segment{.process = owner.pid()};
  told >> segment.descriptor >> segment.device >> segment.inode >> segment.bytes;
  const auto mapped = MappedSegment::map(segment);
  ASSERT_TRUE(mapped) << mapped.status().to_string();
  owner.signal(SIGKILL);
  owner.wait();
  const auto seen = mapped->bytes().first(1 << 20);
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](std::byte one) { return one == std::byte{7}; }));
}

TEST(MappedSegment, RefusesWhatIsNotTheSegmentThatIsMeantAndWhatCouldShrink) {
  MappableHeap heap;
  heap.take(64);
  const auto refusal = [](MappableSegment segment) {
    return std::string(MappedSegment::map(segment).status().message());
  };
  MappableSegment segment = heap.segment(0);
  ++segment.inode;
  EXPECT_NE(refusal(segment).find("it is another file"), std::string::npos);
  segment = heap.segment(0);
  segment.descriptor = 1 << 20;
  EXPECT_NE(refusal(segment).find("No such file"), std::string::npos);
  const int shrinks = ::memfd_create("shrinks", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(shrinks, 4096), 0);
  struct stat status {};
  ASSERT_EQ(::fstat(shrinks, &status), 0);
  segment = {
      .process = ::getpid(), .descriptor = shrinks, .device = status.st_dev, .inode = status.st_ino, .bytes = 4096};
  EXPECT_NE(refusal(segment).find("it is another file"), std::string::npos);
  ::close(shrinks);
}

TEST(MappedSegment, AnotherProcessCanMapOneHere) {
  const Status can = memory_can_be_mapped();
  EXPECT_TRUE(can) << can.to_string();
}

}  // namespace
}  // namespace lacuna::test
