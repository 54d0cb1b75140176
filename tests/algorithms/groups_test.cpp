#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <random>

#include "algorithms/registry/registry.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/collective_case.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::test {
namespace {

constexpr Rank world_size = 8;
constexpr std::size_t most_operations = 1000;
constexpr std::size_t largest_count = 60;
constexpr std::size_t chunk_bytes = 64;

/// The world and two halves of it; in the second, the ranks stand in the other direction.
const std::array groups = {Group(world_size), Group({0, 2, 4, 6}, world_size), Group({7, 5, 3, 1}, world_size)};

/// The hosts are even in the world and uneven in the halves. With other seeds each half is on one host and has a board.
const Hosts hosts(std::vector<Rank>{0, 0, 0, 1, 1, 0, 1, 1});

RanksOptions drawn_options(std::uint64_t seed) {
  RanksOptions options{.network = {.seed = seed, .eager_limit = 64}, .executor = quick_executor()};
  options.network.sends = seed % 2 ? InprocOptions::Sends::Referenced : InprocOptions::Sends::Copied;
  options.executor.max_runs = most_operations;
  options.executor.chunk_bytes = chunk_bytes;
  options.executor.eager_bytes = seed % 3 == 0 ? 0 : 1 << 20;
  options.executor.credit_bytes = seed % 5 == 0 ? 500 : 1 << 20;
  return options;
}

/// Makes calls and messages on the three communicators. Each rank posts those of one communicator in order, and takes
/// turns between its two communicators as it likes.
class Storm {
 public:
  Storm(std::uint64_t seed, std::size_t operations)
      : random_(seed),
        halves_have_boards_(seed % 2 == 0),
        ranks_(world_size, drawn_options(seed)),
        oracles_{Oracles(world_size, world_size * largest_count), Oracles(4, 4 * largest_count)} {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Group& group = groups[g];
      const auto board = has_board(g) ? Board::local_memory(group.size()) : nullptr;
      for (Rank process : group.members()) {
        queues_.push_back({.process = process, .waiting = {}, .communicator = nullptr});
        queues_.back().communicator = std::make_unique<runtime::Communicator>(
            ranks_.executor(process), 100 + g, group, board ? Hosts(4).with_board() : hosts.of(group.members()));
        if (board) queues_.back().communicator->share({board, group.size(), group.rank_of(process)});
        of_group_[g].push_back(queues_.size() - 1);
      }
    }
    for (std::size_t i = 0; i < operations; ++i) pick(2) == 0 ? draw_message() : draw_operation();
  }

  /// Returns nothing, or what is wrong.
  std::string run() {
    while (std::any_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return !queue.waiting.empty(); })) {
      if (pick(4) == 0) ranks_.sweep();
      Queue& queue = queues_[pick(queues_.size())];
      if (!queue.waiting.empty()) post_next(queue);
    }
    const auto ended = [&] {
      return std::all_of(posted_.begin(), posted_.end(), [](const auto& one) { return one->run->finished; });
    };
    return ranks_.sweep_until(ended) ? check() : "nothing moves any more";
  }

  /// Does what run() does with a thread for each process.
  std::string run_in_threads() {
    const std::uint64_t seed = random_();
    ranks_.each_in_thread([&](Rank process) {
      std::mt19937_64 random(seed + static_cast<std::uint64_t>(process));
      std::vector<Queue*> mine;
      std::vector<std::pair<Queue*, Posted*>> posted;
      for (Queue& queue : queues_) {
        if (queue.process == process) mine.push_back(&queue);
      }
      while (!mine.empty()) {
        const std::size_t turn = random() % mine.size();
        if (mine[turn]->waiting.empty()) {
          mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(turn));
          continue;
        }
        posted.emplace_back(mine[turn], &post_next(*mine[turn]));
        if (random() % 4 == 0) ranks_.executor(process).progress();
      }
      for (auto& [queue, one] : posted) static_cast<void>(queue->communicator->wait(*one->run));
    });
    return check();
  }

 private:
  std::string check() {
    for (auto& one : posted_) {
      if (one->letter) {
        if (!one->run->status) return one->run->status.to_string();
        if (one->letter->data != one->letter->expected) return "a message with other bytes than were sent";
        continue;
      }
      if (!one->run->status) return to_string(*one->what) + ": " + one->run->status.to_string();
      std::string wrong = one->buffers.check(*one->what, one->rank, *one->oracle, chunk_bytes);
      if (!wrong.empty()) return to_string(*one->what) + ": " + wrong;
    }
    return {};
  }

  /// One side of a message.
  struct Letter {
    bool sends = false;
    Rank peer = 0;
    int tag = 0;
    std::vector<std::uint8_t> data, expected;
  };
  /// One rank's share of an operation.
  struct Posted {
    std::optional<Letter> letter;  // or else a call, which the next members describe
    const Case* what = nullptr;
    const Oracle* oracle = nullptr;
    Rank rank = 0;
    RankBuffers buffers;
    Sampler sampler;
    runtime::Run* run = nullptr;
  };
  /// What one process still has to post on one communicator.
  struct Queue {
    Rank process = 0;
    std::deque<Posted*> waiting;
    std::unique_ptr<runtime::Communicator> communicator;
  };

  std::size_t pick(std::size_t below) { return random_() % below; }
  bool has_board(std::size_t g) const { return halves_have_boards_ && groups[g].size() < world_size; }

  static Posted& post_next(Queue& queue) {
    Posted& next = *queue.waiting.front();
    queue.waiting.pop_front();
    if (next.letter) {
      next.run = &post_letter(*queue.communicator, *next.letter);
      return next;
    }
    const Call call = next.buffers.prepare(*next.what, next.rank, *next.oracle, next.sampler);
    next.run = &must_post(*queue.communicator, call);
    return next;
  }

  static runtime::Run& post_letter(runtime::Communicator& communicator, Letter& letter) {
    const Send send{.data = letter.data.data(),
                    .count = letter.data.size(),
                    .dtype = Dtype::U8,
                    .to = letter.peer,
                    .tag = letter.tag};
    const Receive receive{.data = letter.data.data(),
                          .count = letter.data.size(),
                          .dtype = Dtype::U8,
                          .from = letter.peer,
                          .tag = letter.tag};
    auto posted = letter.sends ? communicator.post(send) : communicator.post(receive);
    if (!posted) throw std::runtime_error(posted.status().to_string());
    return **posted;
  }

  void add_letter(std::size_t queue, Letter letter) {
    posted_.push_back(std::make_unique<Posted>());
    posted_.back()->letter = std::move(letter);
    queues_[queue].waiting.push_back(posted_.back().get());
  }

  void draw_message() {
    const std::size_t g = pick(groups.size());
    const auto from = static_cast<Rank>(pick(of_group_[g].size())), to = static_cast<Rank>(pick(of_group_[g].size()));
    const auto queue_of = [&](Rank rank) {
      return *std::find_if(of_group_[g].begin(), of_group_[g].end(),
                           [&](std::size_t queue) { return queues_[queue].communicator->rank() == rank; });
    };
    const int tag = static_cast<int>(pick(4));
    std::vector<std::uint8_t> data(pick(300));
    for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random_());
    add_letter(queue_of(from), {.sends = true, .peer = to, .tag = tag, .data = data, .expected = data});
    add_letter(queue_of(to),
               {.peer = from, .tag = tag, .data = std::vector<std::uint8_t>(data.size()), .expected = data});
  }

  const Oracle& oracle(const Case& what) {
    return oracles_[what.size == world_size ? 0 : 1].get(what.dtype, what.reduction);
  }

  void draw_operation() {
    const std::size_t g = pick(groups.size());
    const auto all = all_algorithms();
    const Algorithm* algorithm = all[pick(all.size())];
    while (algorithm->on_board && !has_board(g)) algorithm = all[pick(all.size())];
    cases_.push_back(offered({.algorithm = algorithm,
                              .size = groups[g].size(),
                              .count = pick(largest_count + 1),
                              .dtype = all_dtypes[pick(2)],
                              .reduction = all_reductions[pick(all_reductions.size())],
                              .placement = static_cast<Placement>(pick(3)),
                              .skip = static_cast<int>(pick(4)),
                              .mode = static_cast<SkipMode>(pick(2)),
                              .root = static_cast<Rank>(pick(8)),
                              .sampler = {.seed = pick(1000), .key = 1, .draw = pick(1000)}}));
    for (std::size_t queue : of_group_[g]) {
      posted_.push_back(std::make_unique<Posted>());
      posted_.back()->what = &cases_.back();
      posted_.back()->oracle = &oracle(cases_.back());
      posted_.back()->rank = queues_[queue].communicator->rank();
      queues_[queue].waiting.push_back(posted_.back().get());
    }
  }

  std::mt19937_64 random_;
  const bool halves_have_boards_;
  std::deque<Case> cases_;
  std::vector<std::unique_ptr<Posted>> posted_;
  Ranks ranks_;
  std::array<Oracles, 2> oracles_;  // one for the world, one for a half
  std::vector<Queue> queues_;
  std::array<std::vector<std::size_t>, 3> of_group_;  // queues of each group
};

TEST(ManyGroups, AThousandSeedsOfCallsAndMessagesOnOverlappingCommunicatorsGiveTheOraclesBits) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) ASSERT_EQ(Storm(seed, 100).run(), "") << "seed " << seed;
}

TEST(Groups, AThousandCallsAndMessagesOnOverlappingCommunicatorsInThreadsGiveTheOraclesBits) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ASSERT_EQ(Storm(seed, most_operations).run_in_threads(), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace lacuna::test
