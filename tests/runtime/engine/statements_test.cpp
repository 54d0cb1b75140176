#include <gtest/gtest.h>

#include "runtime/engine/posted.hpp"
#include "tests/support/ranks.hpp"

// After rank 0 of the job has left, the members of a communicator tell each other what they have posted.
namespace lacuna::test {
namespace {

/// Ranks whose troubles are recorded.
struct Told {
  explicit Told(Rank size) : ranks(size), troubles(static_cast<std::size_t>(size)), data(troubles.size()) {
    for (Rank rank = 0; rank < size; ++rank) {
      auto& mine = troubles[static_cast<std::size_t>(rank)];
      ranks.executor(rank).set_reporter([&mine](const runtime::Trouble& trouble) { mine.push_back(trouble); });
    }
  }
  ~Told() {
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      ranks.communicator(rank).fail({Code::TimedOut, "the test is over"});
      if (runs[static_cast<std::size_t>(rank)]) {
        ranks.communicator(rank).release(*runs[static_cast<std::size_t>(rank)]);
      }
    }
  }
  /// A reduce, which ends only if all ranks have this root.
  void reduce(Rank rank, Rank root) {
    const auto i = static_cast<std::size_t>(rank);
    data[i].assign(20, 1);
    runs[i] = *ranks.post(rank, {.collective = Collective::Reduce,
                                 .input = data[i].data(),
                                 .output = data[i].data() + 10,
                                 .count = 10,
                                 .dtype = Dtype::F32,
                                 .root = root});
  }
  /// Lets `rank` tell the others about call 0, and sweeps until they have answered.
  void tell(Rank rank) {
    ranks.executor(rank).tell_members(ranks.communicator(rank).id(), 0);
    while (ranks.sweep()) {
    }
  }
  /// The ranks that this rank has heard, and what they posted.
  std::vector<std::pair<Rank, std::string>> heard(Rank rank) const {
    std::vector<std::pair<Rank, std::string>> all;
    for (const runtime::Trouble& trouble : troubles[static_cast<std::size_t>(rank)]) {
      EXPECT_EQ(trouble.kind, runtime::Trouble::Kind::Mismatch) << trouble.text;
      for (const auto& [from, posted] : trouble.heard) all.emplace_back(from, posted.text);
    }
    return all;
  }

  Ranks ranks;
  std::vector<std::vector<runtime::Trouble>> troubles;
  std::vector<std::vector<float>> data;
  runtime::Run* runs[4] = {};
};

using Heard = std::vector<std::pair<Rank, std::string>>;

const std::string root_0 = "reduce tree f32 count 10 sum root 0", root_1 = "reduce tree f32 count 10 sum root 1";

TEST(Statements, WhoPostedSomethingElseReportsWhatBothHavePostedAndSoDoesWhoSaidIt) {
  Told job(2);
  job.reduce(0, 0);
  job.reduce(1, 1);
  job.tell(0);
  EXPECT_EQ(job.heard(1), (Heard{{0, root_0}}));
  EXPECT_EQ(job.heard(0), (Heard{{1, root_1}}));
}

TEST(Statements, RanksThatAgreeReportNothing) {
  Told job(2);
  job.reduce(0, 0);
  job.tell(0);
  EXPECT_EQ(job.heard(1), Heard{}) << "it has not posted the call yet";
  job.reduce(1, 0);
  job.tell(0);
  for (Rank rank : {0, 1}) EXPECT_EQ(job.heard(rank), Heard{});
}

TEST(Statements, ARankWhoseCommunicatorHasFailedStillAnswers) {
  Told job(2);
  job.reduce(0, 0);
  job.reduce(1, 1);
  job.ranks.communicator(1).fail({Code::Mismatch, "another rank said it first"});
  job.tell(0);
  EXPECT_EQ(job.heard(0), (Heard{{1, root_1}}));
  EXPECT_EQ(job.heard(1), Heard{});
}

TEST(Statements, BytesThatAreNoStatementAreNone) {
  runtime::Posted posted{.digest = 1, .text = "barrier", .history = 2};
  posted.before.push_back({.digest = 3, .text = "barrier", .history = 4});
  const auto bytes = runtime::encode(posted);
  const auto back = runtime::decode_posted(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->text, "barrier");
  ASSERT_EQ(back->before.size(), 1u);
  EXPECT_EQ(back->before[0].history, 4u);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(runtime::decode_posted(std::span(bytes).first(length))) << length;
  }
}

}  // namespace
}  // namespace lacuna::test
