#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <barrier>

#include "tests/bindings/cpp/facade_ranks.hpp"
#include "tests/support/environment.hpp"

namespace lacuna {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// Memory that can't be touched once this ends. Whoever touches it later ends the test with a signal.
class Pages {
 public:
  explicit Pages(std::size_t count)
      : count_(count),
        data_(static_cast<float*>(::mmap(nullptr, count * sizeof(float), PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0))) {
    std::fill(data_, data_ + count_, 1.0f);
  }
  ~Pages() {
    ::mprotect(data_, count_ * sizeof(float), PROT_NONE);  // at once, however many pages there are
    ::munmap(data_, count_ * sizeof(float));
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::span<float> all() const { return {data_, count_}; }

 private:
  std::size_t count_;
  float* data_;
};

class FacadeEnds : public testing::TestWithParam<Progress> {
 protected:
  const Variable fetched_{"LACUNA_EAGER", "0"};
};
INSTANTIATE_TEST_SUITE_P(, FacadeEnds, testing::Values(Progress::Caller, Progress::Thread),
                         [](const auto& given) { return std::string(to_string(given.param)); });

// A mismatch ends a stream of messages, each of which takes its receiver a while to copy.
TEST_P(FacadeEnds, MemoryMayGoWhenACallThatFailedReturnsThoughOthersWereCopyingIt) {
  constexpr std::size_t count = 4 << 20;
  for (int repeat = 0; repeat < 5; ++repeat) {
    auto ranks = local(2, GetParam());
    on_each(ranks, [&](Communicator& rank) {
      const Pages pages(count);
      if (rank.rank() == 1) {
        std::array<float, 2> more{};
        Request differs;
        for (int received = 0; rank.receive<float>(pages.all(), 0); ++received) {
          if (received == 5) differs = *rank.start(broadcast<float>(more, 1));
        }
        return;
      }
      float alone = 1;
      Request differs = *rank.start(broadcast<float>(std::span(&alone, 1), 1));
      Status ended;
      for (std::vector<Request> sent(2); ended; std::swap(sent[0], sent[1])) {
        ended = sent[0].wait();
        auto next = rank.start_send<float>(pages.all(), 1);
        if (ended) ended = next.status();
        if (next) sent[0] = *std::move(next);
      }
      expect_error(ended, Code::Mismatch, "rank 1 posted broadcast tree f32 count 2");
      EXPECT_EQ(ended.message().find("in use"), std::string::npos) << ended.to_string();
    });
  }
}

TEST_P(FacadeEnds, MemoryMayGoWhenABlockingCallReturnsFromItsDeadline) {
  constexpr std::size_t count = 1 << 20;
  auto ranks = local(3, GetParam());
  std::barrier ready(3);  // so that ranks 0 and 2 post at the same time
  on_each(ranks, [&](Communicator& rank) {
    if (rank.rank() == 1) {
      ready.arrive_and_wait();
      std::this_thread::sleep_for(600ms);
      return;
    }
    const Pages pages(count);
    ready.arrive_and_wait();
    expect_error(rank.call(allreduce<float>(pages.all(), pages.all(), {}, {.deadline = 400ms})), Code::TimedOut,
                 "rank 1 has not posted it");
  });
  EXPECT_FALSE(ranks[1].status());
}

}  // namespace
}  // namespace lacuna
