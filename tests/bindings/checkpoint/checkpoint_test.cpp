#include "bindings/checkpoint/checkpoint.hpp"

#include <array>
#include <chrono>
#include <fstream>
#include <limits>
#include <thread>

#include "algorithms/skip/skip.hpp"
#include "tests/bindings/checkpoint/checkpoint_fixture.hpp"

namespace lacuna::checkpoint {
namespace {

void flip_byte(const std::filesystem::path& path, std::streamoff offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(offset);
  file.put(byte);
  ASSERT_TRUE(file.good());
}

TEST_F(CheckpointTest, EveryDtypeComesBackBitForBit) {
  for (const Dtype dtype : real_dtypes) {
    std::vector<std::uint8_t> bytes(1001 * size_of(dtype));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 + 11);
    const StateItem item{"layer0.weight", dtype, bytes.data(), 1001};
    ASSERT_TRUE(write_rank_file({directory_, 1, 0, 1}, {&item, 1}, {}));
    std::vector<std::uint8_t> back(bytes.size());
    const StateItem target{"layer0.weight", dtype, back.data(), 1001};
    const Result<Attributes> read = read_rank_file({directory_, 1, 0, 1}, {&target, 1});
    ASSERT_TRUE(read) << read.status().to_string();
    EXPECT_EQ(back, bytes) << to_string(dtype);
  }
}

TEST_F(CheckpointTest, ItemsAreFilledByNameInAnyOrder) {
  std::array<double, 2> a = {1, 2};
  std::array<std::int64_t, 3> b = {3, 4, 5};
  const std::array items = {StateItem{"a", Dtype::F64, a.data(), 2}, StateItem{"b", Dtype::I64, b.data(), 3}};
  ASSERT_TRUE(write_rank_file({directory_, 1, 0, 1}, items, {}));
  a = {};
  b = {};
  ASSERT_TRUE(read_rank_file({directory_, 1, 0, 1}, std::array{items[1], items[0]}));
  EXPECT_EQ(a, (std::array<double, 2>{1, 2}));
  EXPECT_EQ(b, (std::array<std::int64_t, 3>{3, 4, 5}));
}

TEST_F(CheckpointTest, WhatAMethodKeepsOfATensorComesBackUnderItsPrefix) {
  const MethodOptions method = skip({.steps = 1, .feedback = true, .audit = 10});
  const auto with_arrays = [&](std::uint64_t runs) {
    MethodState state{.sampler = {.seed = 3 * runs, .key = 4 * runs, .draw = 5 * runs}, .runs = runs};
    add_arrays(method, Dtype::F32, 100, state);
    return state;
  };
  MethodState state = with_arrays(7), back = with_arrays(0);
  std::byte value{1};
  for (StateArray& array : state.arrays) {
    for (std::byte& byte : std::span(array.bytes.data(), array.bytes.size()))
      byte = value = static_cast<std::byte>(std::to_integer<int>(value) * 37 + 11);
  }
  ASSERT_NE(*state.save(), *back.save());
  std::vector<StateItem> items, targets;
  add_items(state, "layer0.", items);
  add_items(back, "layer0.", targets);
  std::vector<std::string> names;
  for (const StateItem& item : items) names.push_back(item.name);
  EXPECT_EQ(std::vector(names.begin(), names.begin() + 3),
            (std::vector<std::string>{"layer0.sampler", "layer0.runs", "layer0.residual"}));
  ASSERT_TRUE(write_rank_file({directory_, 1, 0, 1}, items, {}));
  const Result<Attributes> read = read_rank_file({directory_, 1, 0, 1}, targets);
  ASSERT_TRUE(read) << read.status().to_string();
  EXPECT_EQ(*back.save(), *state.save());
}

TEST_F(CheckpointTest, EqualContentsMakeEqualFilesAtDifferentTimes) {
  std::array<double, 2> a = {1, 2};
  const StateItem item{"a", Dtype::F64, a.data(), 2};
  const Result<FileSum> first = write_rank_file({directory_, 1, 0, 1}, {&item, 1}, {{"text", std::string("t")}});
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  const Result<FileSum> second = write_rank_file({directory_, 1, 0, 1}, {&item, 1}, {{"text", std::string("t")}});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
}

TEST_F(CheckpointTest, AnItemOfNoElementsComesBack) {
  const StateItem item{"empty", Dtype::BF16, nullptr, 0};
  ASSERT_TRUE(write_rank_file({directory_, 1, 0, 1}, {&item, 1}, {}));
  const Result<Attributes> read = read_rank_file({directory_, 1, 0, 1}, {&item, 1});
  EXPECT_TRUE(read) << read.status().to_string();
}

TEST_F(CheckpointTest, AttributesComeBackInOrderWhateverTheirLength) {
  const Attributes attributes = {{"z", std::int64_t{-5}},
                                 {"draw", std::numeric_limits<std::int64_t>::max()},
                                 {"rate", 0.1},
                                 {"infinite", std::numeric_limits<double>::infinity()},
                                 {"empty", std::string()},
                                 {"long", std::string(3 << 20, 'x') + "end"},
                                 {"utf8", std::string("μέτρο {\"a\": [1]}\n")},
                                 {"a", std::string(70000, 'y')},
                                 {"b", std::int64_t{1}},
                                 {"c", std::int64_t{2}}};
  ASSERT_TRUE(write_rank_file({directory_, 1, 0, 1}, {}, attributes));
  const Result<Attributes> read = read_rank_file({directory_, 1, 0, 1}, {});
  ASSERT_TRUE(read) << read.status().to_string();
  EXPECT_TRUE(*read == attributes);
}

TEST_F(CheckpointTest, WhatCannotBeStoredIsRefusedAndLeavesNoFile) {
  float value = 0;
  const RankFile file{directory_, 1, 0, 1};
  for (const char* name : {"", ".", "a/b"}) {
    const StateItem item{name, Dtype::F32, &value, 1};
    EXPECT_EQ(write_rank_file(file, {&item, 1}, {}).status().code(), Code::InvalidArgument) << name;
  }
  const std::array twice = {StateItem{"a", Dtype::F32, &value, 1}, StateItem{"a", Dtype::F32, &value, 1}};
  EXPECT_TRUE(holds(write_rank_file(file, twice, {}).status().message(), "/state/a"));
  const StateItem no_memory{"a", Dtype::F32, nullptr, 1};
  EXPECT_EQ(write_rank_file(file, {&no_memory, 1}, {}).status().code(), Code::InvalidArgument);
  EXPECT_EQ(write_rank_file(file, {}, {{"t", std::string(1, '\0')}}).status().code(), Code::InvalidArgument);
  EXPECT_EQ(write_rank_file({directory_, 1, 1, 1}, {}, {}).status().code(), Code::InvalidArgument);
  EXPECT_EQ(write_rank_file({directory_, -1, 0, 1}, {}, {}).status().code(), Code::InvalidArgument);
  EXPECT_EQ(names().size(), 0U);
}

TEST_F(CheckpointTest, AnItemThatDiffersIsAnErrorThatNamesBothSidesAndFillsNothing) {
  ASSERT_TRUE(write_set(directory_, 1));
  std::vector<float> memory(2000, -1);
  const auto reason = [&](const StateItem& item) {
    const Result<Attributes> read = read_rank_file({directory_, 1, 0, ranks}, {&item, 1});
    EXPECT_EQ(read.status().code(), Code::InvalidArgument);
    return std::string(read.status().message());
  };
  for (const std::size_t other : {999u, 1001u}) {
    const std::string count = reason({"weights", Dtype::F32, memory.data(), other});
    EXPECT_TRUE(holds(count, "'weights' (1000 x f32)"));
    EXPECT_TRUE(holds(count, "'weights' (" + std::to_string(other) + " x f32)"));
  }
  const std::string dtype = reason({"weights", Dtype::I32, memory.data(), 1000});
  EXPECT_TRUE(holds(dtype, "'weights' (1000 x f32)"));
  EXPECT_TRUE(holds(dtype, "'weights' (1000 x i32)"));
  const std::string name = reason({"weight", Dtype::F32, memory.data(), 1000});
  EXPECT_TRUE(holds(name, "[weights]"));
  EXPECT_TRUE(holds(name, "'weight' (1000 x f32)"));
  const Result<Attributes> none = read_rank_file({directory_, 1, 0, ranks}, {});
  EXPECT_TRUE(holds(none.status().message(), "'weights'"));
  EXPECT_EQ(memory, std::vector<float>(2000, -1));
}

TEST_F(CheckpointTest, AFileOfAnotherRankOrStepIsRefused) {
  ASSERT_TRUE(write_set(directory_, 1));
  std::filesystem::rename(directory_ / "ckpt-1-rank1.h5", directory_ / "ckpt-2-rank0.h5");
  const Result<Attributes> read = read_rank_file({directory_, 2, 0, ranks}, {});
  EXPECT_TRUE(holds(read.status().message(), "step = 1; rank = 1"));
}

TEST_F(CheckpointTest, NoDirectoryAndAnEmptyOneHoldNoSet) {
  for (const auto& directory : {directory_, directory_ / "none"}) {
    const Result<SetSearch> search = newest_set(directory, ranks);
    ASSERT_TRUE(search) << search.status().to_string();
    EXPECT_FALSE(search->set);
    EXPECT_EQ(search->passed_over.size(), 0U);
  }
}

TEST_F(CheckpointTest, TheNewestSetIsFoundByNumberWithItsConfig) {
  for (const std::int64_t step : {9, 10, 100}) ASSERT_TRUE(write_set(directory_, step));
  const Result<SetSearch> search = newest_set(directory_, ranks);
  ASSERT_TRUE(search && search->set);
  EXPECT_EQ(search->set->step, 100);
  EXPECT_EQ(search->set->config_text, "epochs = 3\n");
  EXPECT_EQ(search->set->config_digest, "d1");
  EXPECT_EQ(search->set->files.size(), 2U);
  expect_content(directory_, 100);
}

TEST_F(CheckpointTest, AnUnfinishedSetIsNotSeen) {
  ASSERT_TRUE(write_set(directory_, 1));
  ASSERT_TRUE(write_rank_file({directory_, 2, 0, ranks}, {}, {}));
  const Result<SetSearch> search = newest_set(directory_, ranks);
  ASSERT_TRUE(search && search->set);
  EXPECT_EQ(search->set->step, 1);
  EXPECT_EQ(search->passed_over.size(), 0U);
}

TEST_F(CheckpointTest, ADamagedNewestSetIsPassedOverForAReasonThatNamesTheFile) {
  const auto damage = [](const std::filesystem::path& file, int kind) {
    if (kind == 0) flip_byte(file, static_cast<std::streamoff>(std::filesystem::file_size(file) / 2));
    if (kind == 1) std::filesystem::resize_file(file, std::filesystem::file_size(file) - 3);
    if (kind == 2) std::filesystem::remove(file);
    if (kind == 3) std::filesystem::resize_file(file, 0);
  };
  for (const char* file : {"ckpt-2-rank0.h5", "ckpt-2-rank1.h5", "manifest-2.json"}) {
    for (int kind = 0; kind < 4; ++kind) {
      if (kind == 2 && std::string(file).starts_with("manifest")) continue;
      ASSERT_TRUE(write_set(directory_, 1) && write_set(directory_, 2));
      damage(directory_ / file, kind);
      const Result<SetSearch> search = newest_set(directory_, ranks);
      ASSERT_TRUE(search && search->set) << file << kind;
      EXPECT_EQ(search->set->step, 1);
      ASSERT_EQ(search->passed_over.size(), 1U);
      EXPECT_TRUE(holds(search->passed_over[0], file));
      if (kind == 1 && file[0] == 'c') {
        EXPECT_TRUE(holds(search->passed_over[0], " bytes, its manifest says "));
      }
      expect_content(directory_, 1);
    }
  }
}

TEST_F(CheckpointTest, ASetWhoseSumsAreRightButWhoseFilesAreNotItsOwnIsPassedOver) {
  ASSERT_TRUE(write_set(directory_, 1));
  const Result<FileSum> foreign = write_rank_file({directory_, 2, 0, 1}, {}, {});  // it belongs to a job of one rank
  const Result<FileSum> good = write_rank_file({directory_, 2, 1, ranks}, {}, {});
  ASSERT_TRUE(foreign && good);
  ASSERT_TRUE(write_manifest(directory_, {2, {*foreign, *good}, "", ""}));
  const Result<SetSearch> search = newest_set(directory_, ranks);
  ASSERT_TRUE(search && search->set);
  EXPECT_EQ(search->set->step, 1);
  ASSERT_EQ(search->passed_over.size(), 1U);
  EXPECT_TRUE(holds(search->passed_over[0], "step = 2; rank = 0; size = 1"));
}

TEST_F(CheckpointTest, AFlippedByteIsFoundWhereverItIs) {
  ASSERT_TRUE(write_set(directory_, 1, 10));
  for (const char* name : {"ckpt-1-rank1.h5", "manifest-1.json"}) {
    const auto bytes = static_cast<std::streamoff>(std::filesystem::file_size(directory_ / name)) - 1;
    for (std::streamoff at = 0; at < bytes; at += 13) {
      flip_byte(directory_ / name, at);
      const Result<SetSearch> search = newest_set(directory_, ranks);
      ASSERT_TRUE(search);
      const bool blank = search->set && search->set->files.size() == 2 && search->set->config_text == "epochs = 3\n";
      EXPECT_TRUE(!search->set || (blank && std::string(name).starts_with("manifest"))) << name << " byte " << at;
      flip_byte(directory_ / name, at);
    }
  }
  EXPECT_TRUE(newest_set(directory_, ranks)->set);
}

TEST_F(CheckpointTest, ASetOfAnotherSizeIsAnErrorThatNamesBothSizes) {
  ASSERT_TRUE(write_set(directory_, 1));
  for (const Rank size : {1, 3}) {
    const Result<SetSearch> search = newest_set(directory_, size);
    EXPECT_EQ(search.status().code(), Code::InvalidArgument);
    EXPECT_TRUE(holds(search.status().message(), "a job of 2 ranks, this job has " + std::to_string(size)));
  }
}

TEST_F(CheckpointTest, AManifestOfForeignNamesOrTextsIsRefused) {
  const std::string digest(64, '0');
  EXPECT_EQ(write_manifest(directory_, {1, {{"../x.h5", 1, digest}}, "", ""}).code(), Code::InvalidArgument);
  EXPECT_EQ(write_manifest(directory_, {1, {}, "", ""}).code(), Code::InvalidArgument);
  EXPECT_EQ(write_manifest(directory_, {1, {{"ckpt-1-rank0.h5", 1, digest}}, "\xff", ""}).code(),
            Code::InvalidArgument);
  EXPECT_EQ(names().size(), 0U);
}

TEST_F(CheckpointTest, PruneKeepsTheLastTwoSetsAndEveryFileThatIsNotOurs) {
  const std::vector<std::string> foreign = {
      "ckpt-01-rank0.h5", "ckpt-1-rank0.h5.bak", "manifest-1.json.old",     "manifest-x.json",
      "run.h5",           "ckpt-1-rank0.h5.tmp", "ckpt-1-rank0.h5.0123.tmp"};
  for (const std::string& name : foreign) std::ofstream(directory_ / name) << "mine";
  for (const char* name : {"ckpt-0-rank7.h5", "ckpt-3-rank0.h5.0123456789abcdef.tmp",
                           "ckpt-3-rank0.h5.fedcba9876543210.tmp", "manifest-3.json.0000000000000000.tmp"}) {
    std::ofstream(directory_ / name) << "left over";
  }
  std::ofstream(directory_ / "ckpt-4-rank0.h5.0123456789abcdef.tmp") << "being written";
  for (const std::int64_t step : {1, 2, 3}) ASSERT_TRUE(write_set(directory_, step));
  ASSERT_TRUE(prune(directory_, 3));
  std::vector<std::string> expected = foreign;
  expected.insert(expected.end(), {"ckpt-2-rank0.h5", "ckpt-2-rank1.h5", "ckpt-3-rank0.h5", "ckpt-3-rank1.h5",
                                   "ckpt-4-rank0.h5.0123456789abcdef.tmp", "manifest-2.json", "manifest-3.json"});
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names(), expected);
}

TEST_F(CheckpointTest, ALaterSetThatWasPassedOverNeverPushesOutAGoodOne) {
  for (const std::int64_t step : {50, 60, 100}) ASSERT_TRUE(write_set(directory_, step));
  ASSERT_TRUE(prune(directory_, 60));
  EXPECT_EQ(names(),
            (std::vector<std::string>{"ckpt-100-rank0.h5", "ckpt-100-rank1.h5", "ckpt-50-rank0.h5", "ckpt-50-rank1.h5",
                                      "ckpt-60-rank0.h5", "ckpt-60-rank1.h5", "manifest-50.json", "manifest-60.json"}));
}

TEST_F(CheckpointTest, RemoveSetsLeavesNoneButForeignFiles) {
  for (const std::int64_t step : {1, 2}) ASSERT_TRUE(write_set(directory_, step));
  std::ofstream(directory_ / "run.h5") << "mine";
  ASSERT_TRUE(remove_sets(directory_));
  EXPECT_EQ(names(), (std::vector<std::string>{"run.h5"}));
}

}  // namespace
}  // namespace lacuna::checkpoint
