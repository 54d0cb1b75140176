#include <array>
#include <fstream>

#include "bindings/checkpoint/lacuna_checkpoint.h"
#include "tests/bindings/checkpoint/checkpoint_fixture.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"

namespace lacuna::checkpoint {
namespace {

/// Sets of the ranks of a job.
class JobSets : public CheckpointTest {
 protected:
  static std::vector<StateItem> items(double& value) {
    return {{.name = "value", .dtype = Dtype::F64, .data = &value, .count = 1}};
  }
  /// Each rank saves its number plus the step. Returns the outcomes.
  std::vector<Status> save_step(std::int64_t step) {
    std::vector<Status> outcomes(static_cast<std::size_t>(size_));
    test::on_each(ranks_, [&](Communicator& rank) {
      double value = static_cast<double>(rank.rank()) + 100.0 * static_cast<double>(step);
      outcomes[static_cast<std::size_t>(rank.rank())] =
          save(rank, directory_, step, items(value), {{"text", "of rank " + std::to_string(rank.rank())}});
    });
    return outcomes;
  }

  static constexpr Rank size_ = 3;
  std::vector<Communicator> ranks_ = test::local(size_, Progress::Thread);
};

TEST_F(JobSets, TheNewestComesBackOnAllRanksAndTheLastTwoStay) {
  for (const std::int64_t step : {1, 2, 3}) {
    for (const Status& saved : save_step(step)) EXPECT_TRUE(saved) << saved.to_string();
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "manifest-1.json"));
  std::ofstream(directory_ / "ckpt-3-rank1.h5") << "damaged";
  test::on_each(ranks_, [&](Communicator& rank) {
    double value = 0;
    const auto restored = restore(rank, directory_, items(value));
    ASSERT_TRUE(restored && *restored) << restored.status().to_string();
    EXPECT_EQ((*restored)->step, 2);
    EXPECT_EQ(value, rank.rank() + 200.0);
    EXPECT_EQ((*restored)->attributes, (Attributes{{"text", "of rank " + std::to_string(rank.rank())}}));
    EXPECT_EQ((*restored)->passed_over.size(), rank.rank() == 0 ? 1u : 0u);
  });
}

TEST_F(JobSets, WithoutASetNothingChanges) {
  test::on_each(ranks_, [&](Communicator& rank) {
    double value = 7;
    const auto restored = restore(rank, directory_, items(value));
    ASSERT_TRUE(restored) << restored.status().to_string();
    EXPECT_FALSE(*restored);
    EXPECT_EQ(value, 7);
  });
}

TEST_F(JobSets, WhatOneRankCanNotDoIsAnErrorOfAllThatNamesIt) {
  ASSERT_TRUE(std::filesystem::create_directory(directory_ / "ckpt-1-rank1.h5"));
  for (const Status& saved : save_step(1)) {
    EXPECT_EQ(saved.code(), Code::Io);
    EXPECT_TRUE(holds(saved.message(), "rank 1: " + (directory_ / "ckpt-1-rank1.h5").string()));
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "manifest-1.json"));
  std::filesystem::remove(directory_ / "ckpt-1-rank1.h5");
  save_step(1);
  test::on_each(ranks_, [&](Communicator& rank) {
    double value = 0;
    std::vector<StateItem> mine = items(value);
    if (rank.rank() == 2) mine[0].name = "other";
    const Status restored = restore(rank, directory_, mine).status();
    EXPECT_EQ(restored.code(), Code::InvalidArgument);
    EXPECT_TRUE(holds(restored.message(), "rank 2: "));
  });
}

TEST(CCheckpoints, RefuseWhatIsNullAndTypesThatAreNone) {
  const test::Folder folder;
  lacuna_communicator* rank = nullptr;
  ASSERT_EQ(lacuna_join(nullptr, &rank), LACUNA_OK) << lacuna_last_error();
  const std::string path = folder.path().string();
  std::array<std::int64_t, 2> numbers = {3, 4};
  lacuna_checkpoint_item item = {"numbers", LACUNA_I64, numbers.data(), numbers.size()};
  std::int64_t step = 0;
  const auto refused = [](lacuna_status status, const char* text) {
    EXPECT_EQ(status, LACUNA_INVALID_ARGUMENT);
    EXPECT_TRUE(holds(lacuna_last_error(), text));
  };
  refused(lacuna_checkpoint_save(nullptr, path.c_str(), 1, &item, 1), "communicator is null");
  refused(lacuna_checkpoint_save(rank, nullptr, 1, &item, 1), "directory is null");
  refused(lacuna_checkpoint_save(rank, path.c_str(), 1, nullptr, 1), "items is null");
  refused(lacuna_checkpoint_restore(rank, path.c_str(), &item, 1, nullptr), "step is null");
  item.dtype = 77;
  refused(lacuna_checkpoint_save(rank, path.c_str(), 1, &item, 1), "the dtype of 'numbers' is 77, must be 0 .. 24");
  item.dtype = LACUNA_I64;
  EXPECT_EQ(lacuna_checkpoint_restore(rank, path.c_str(), &item, 1, &step), LACUNA_OK);
  EXPECT_EQ(step, -1);
  EXPECT_EQ(lacuna_checkpoint_save(rank, path.c_str(), 5, &item, 1), LACUNA_OK) << lacuna_last_error();
  numbers = {};
  EXPECT_EQ(lacuna_checkpoint_restore(rank, path.c_str(), &item, 1, &step), LACUNA_OK) << lacuna_last_error();
  EXPECT_EQ(step, 5);
  EXPECT_EQ(numbers, (std::array<std::int64_t, 2>{3, 4}));
  lacuna_communicator_free(rank);
}

}  // namespace
}  // namespace lacuna::checkpoint
