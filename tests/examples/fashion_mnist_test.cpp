#include "examples/workloads/fashion_mnist/fashion_mnist.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "examples/workloads/fashion_mnist/batches.hpp"
#include "examples/workloads/fashion_mnist/idx.hpp"
#include "examples/workloads/fashion_mnist/layer.hpp"
#include "examples/workloads/fashion_mnist/matrix.hpp"
#include "examples/workloads/fashion_mnist/random.hpp"
#include "tests/examples/idx_fixture.hpp"
#include "tests/examples/small_integers.hpp"

namespace lacuna::workloads {
namespace {

class Product3 : public testing::TestWithParam<std::array<std::size_t, 3>> {};

TEST_P(Product3, EqualsTheSumOfProductsForPlainAndTransposedFactors) {
  const auto [rows, columns, depth] = GetParam();
  const std::vector<float> a = small_integers(rows * depth, 1);
  const std::vector<float> b = small_integers(depth * columns, 2);
  for (const bool transposed : {false, true}) {
    const Strided view = transposed ? Strided{a.data(), 1, rows} : Strided{a.data(), depth, 1};
    std::vector<float> c(rows * columns + 1, -7777.0F);
    multiply({view, b.data(), c.data(), rows, columns, depth}, 0, rows / 2);
    multiply({view, b.data(), c.data(), rows, columns, depth}, rows / 2, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < depth; ++k) {
          sum += view.data[i * view.row_stride + k * view.column_stride] * b[k * columns + j];
        }
        ASSERT_EQ(c[i * columns + j], sum) << i << ' ' << j << (transposed ? " transposed" : "");
      }
    }
    EXPECT_EQ(c.back(), -7777.0F) << "written past the end";
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Product3,
                         testing::Values(std::array<std::size_t, 3>{1, 1, 1}, std::array<std::size_t, 3>{16, 10, 33},
                                         std::array<std::size_t, 3>{17, 47, 5}, std::array<std::size_t, 3>{8, 64, 7},
                                         std::array<std::size_t, 3>{9, 31, 16}, std::array<std::size_t, 3>{3, 8, 2}));

TEST(Update, MovesAgainstTheGatheredMomentum) {
  Layer layer{.inputs = 1, .outputs = 1, .parameters = {1, 2}, .gradient = {4, -8}, .momentum = {2, 0}};
  update(layer, 0.5F, 0.25F);
  EXPECT_EQ(layer.momentum, (std::vector<float>{4.5F, -8}));
  EXPECT_EQ(layer.parameters, (std::vector<float>{1 - 2.25F, 2 + 4}));
}

/// Returns what all replicas take in an epoch, replica by replica.
std::vector<std::vector<std::uint32_t>> taken(const BatchSizes& sizes, Shards shards, std::uint64_t epoch,
                                              std::span<const std::uint8_t> labels = {}) {
  const std::uint64_t steps = *steps_per_epoch(sizes);
  std::vector<std::vector<std::uint32_t>> all(sizes.replicas);
  for (std::size_t replica = 0; replica < sizes.replicas; ++replica) {
    Batches batches(sizes, replica, 5, shards, labels);
    for (std::uint64_t step = epoch * steps; step < (epoch + 1) * steps; ++step) {
      const auto batch = batches.take(step);
      all[replica].insert(all[replica].end(), batch.begin(), batch.end());
    }
  }
  return all;
}

TEST(Batches, HoldNoImageTwiceInAnEpoch) {
  const std::vector<std::uint8_t> labels(50, 1);
  for (const Shards shards : {Shards::Mixed, Shards::Own, Shards::ByClass}) {
    std::vector<std::uint32_t> all;
    for (const auto& replica : taken({50, 4, 3}, shards, 1, labels))
      all.insert(all.end(), replica.begin(), replica.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all.size(), 48U) << to_string(shards);
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << to_string(shards);
    EXPECT_LT(all.back(), 50U) << to_string(shards);
  }
}

TEST(Batches, OfItsOwnImagesAReplicaTakesTheSameInEveryEpochInAnotherOrder) {
  const auto sorted = [](std::vector<std::vector<std::uint32_t>> all) {
    for (auto& replica : all) std::sort(replica.begin(), replica.end());
    return all;
  };
  const BatchSizes sizes{48, 4, 3};
  EXPECT_NE(taken(sizes, Shards::Own, 0), taken(sizes, Shards::Own, 1));
  EXPECT_EQ(sorted(taken(sizes, Shards::Own, 0)), sorted(taken(sizes, Shards::Own, 1)));
  EXPECT_NE(sorted(taken(sizes, Shards::Mixed, 0)), sorted(taken(sizes, Shards::Mixed, 1)));
}

TEST(Batches, ByClassHaveNeighbouringClasses) {
  std::vector<std::uint8_t> labels;
  for (std::uint8_t i = 0; i < 48; ++i) labels.push_back(static_cast<std::uint8_t>(i * 7 % 6));
  const auto all = taken({48, 4, 3}, Shards::ByClass, 2, labels);
  for (std::size_t replica = 0; replica < 3; ++replica) {
    for (const std::uint32_t image : all[replica]) EXPECT_EQ(labels[image] / 2U, replica);
  }
}

TEST(Permutation, HoldsEveryNumberOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 60000U}) {
    std::vector<std::uint32_t> order = permutation(5, 1, count);
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    EXPECT_EQ(order, all);
  }
}

TEST(Permutation, DependsOnSeedAndEpochOnly) {
  EXPECT_EQ(permutation(5, 1, 100), permutation(5, 1, 100));
  EXPECT_NE(permutation(5, 1, 100), permutation(5, 2, 100));
  EXPECT_NE(permutation(5, 1, 100), permutation(6, 1, 100));
}

class IdxFile : public IdxFixture {
 protected:
  std::string error_of(const std::vector<std::uint8_t>& bytes) {
    const Result<IdxArray> array = read_idx(write("array.gz", bytes), 1);
    return std::string(array.status().message());
  }
};

TEST_F(IdxFile, YieldsShapeAndValues) {
  const Result<IdxArray> array = read_idx(write("a.gz", {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6}), 2);
  ASSERT_TRUE(array) << array.status().to_string();
  EXPECT_EQ(array->shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(array->values, (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(IdxFile, WithAnotherHeaderIsRefused) {
  EXPECT_NE(error_of({0, 0, 13, 1, 0, 0, 0, 1, 9}).find("begins with 00000d01, expected 00000801"), std::string::npos);
}

TEST_F(IdxFile, ThatEndsEarlyOrLateIsRefused) {
  EXPECT_NE(error_of({0, 0, 8, 1, 0, 0, 0, 3, 9}).find("2 bytes too early"), std::string::npos);
  EXPECT_NE(error_of({0, 0, 8, 1, 0, 0, 0, 1, 9, 9}).find("goes on after"), std::string::npos);
}

TEST_F(IdxFile, WithAnImpossibleSizeIsRefusedBeforeMemoryIsTaken) {
  EXPECT_NE(error_of({0, 0, 8, 1, 255, 255, 255, 255, 9}).find("impossible size"), std::string::npos);
}

TEST_F(IdxFile, WhoseCompressedBytesAreDamagedIsRefused) {
  std::vector<std::uint8_t> bytes = {0, 0, 8, 1, 0, 0, 4, 0};
  for (std::size_t i = 0; i < 1024; ++i) bytes.push_back(static_cast<std::uint8_t>(SplitMix(i, 0).next()));
  const std::filesystem::path path = write("array.gz", bytes);
  std::FILE* file = std::fopen(path.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  std::fseek(file, 500, SEEK_SET);
  std::fputc(std::fgetc(file) ^ 1, file);
  std::fclose(file);
  EXPECT_EQ(read_idx(path, 1).status().code(), Code::Io);
}

TEST_F(IdxFile, OfLabelsMustFitTheImages) {
  write("train-images-idx3-ubyte.gz", {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 7, 8});
  write("train-labels-idx1-ubyte.gz", {0, 0, 8, 1, 0, 0, 0, 1, 3});
  EXPECT_NE(read_images(folder_, "train", 10).status().message().find("1 labels for 2 images"), std::string::npos);
  write("train-labels-idx1-ubyte.gz", {0, 0, 8, 1, 0, 0, 0, 2, 3, 10});
  EXPECT_NE(read_images(folder_, "train", 10).status().message().find("label 10"), std::string::npos);
}

TEST_F(IdxFile, ThatIsMissingNamesThePackageThatHasIt) {
  FashionMnistOptions options;
  options.folder = folder_;
  const Status loaded = make_fashion_mnist(options)->load();
  EXPECT_EQ(loaded.code(), Code::Io);
  EXPECT_NE(loaded.message().find("train-images-idx3-ubyte.gz"), std::string::npos);
  EXPECT_NE(loaded.message().find("apt install dataset-fashion-mnist"), std::string::npos);
}

}  // namespace
}  // namespace lacuna::workloads
