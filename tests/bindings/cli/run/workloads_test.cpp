#include "bindings/cli/run/workloads.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "bindings/cli/run/config.hpp"

namespace lacuna::cli {
namespace {

const std::string topk = "name = \"topk\"\n";

/// Returns a config with these lines in its workload and in its method. The workload's first line is line 7, and the
/// method's first line follows the line [[method]].
Result<RunConfig> read(const std::string& kind, const std::string& workload, const std::string& method = topk) {
  const std::string text =
      fmt::format("[run]\nname = \"a\"\noutput = \"out\"\nsteps = 3\n[workload]\nkind = \"{}\"\n{}[[method]]\n{}", kind,
                  workload, method);
  return read_run_config({.file = "a.toml", .text = text, .hosts = 2});
}

std::string errors_of(const std::string& kind, const std::string& workload, const std::string& method = topk) {
  return std::string(read(kind, workload, method).status().message());
}

TEST(RunWorkloads, AMethodMayBeForOneTensorOfTheWorkload) {
  const auto for_table = read("embeddings", "", topk + "only = \"table\"\n"), for_all = read("embeddings", "");
  ASSERT_TRUE(for_table) << for_table.status().message();
  EXPECT_EQ(for_table->methods.at(0).only, "table");
  EXPECT_NE(for_table->values.find("method[0].only = \"table\"\n"), std::string::npos) << for_table->values;
  ASSERT_TRUE(for_all) << for_all.status().message();
  EXPECT_EQ(for_all->methods.at(0).only, "");
}

TEST(RunWorkloads, AMethodForATensorThatIsNotThereIsRefused) {
  EXPECT_EQ(errors_of("embeddings", "", topk + "only = \"tabel\"\n"),
            "a.toml:9:8: 'only' is 'tabel', allowed is one of table, perceptron; did you mean \"table\"?");
  EXPECT_EQ(errors_of("fashion_mnist", "", topk + "only = \"table\"\n"),
            "a.toml:9:8: 'only' names a tensor, but the workload names none to choose");
}

TEST(RunWorkloads, AMethodMayGetListsOfWhatTheWorkloadHasSo) {
  const std::string blocks = "name = \"blocks\"\nblock = 16\n";
  const auto listed = read("embeddings", "", blocks + "lists = true\n"), whole = read("embeddings", "", blocks);
  ASSERT_TRUE(listed) << listed.status().message();
  EXPECT_TRUE(listed->methods.at(0).lists);
  EXPECT_NE(listed->values.find("method[0].lists = true\n"), std::string::npos) << listed->values;
  ASSERT_TRUE(whole) << whole.status().message();
  EXPECT_FALSE(whole->methods.at(0).lists);
  EXPECT_EQ(errors_of("fashion_mnist", "", topk + "lists = true\n"),
            "a.toml:9:9: 'lists' hands over lists of entries, but the workload has none: it must be false");
}

TEST(RunWorkloads, EmbeddingsHaveFieldsWithCategoriesAndRowsWithNumbers) {
  EXPECT_EQ(errors_of("embeddings", "vocabularies = []\n"),
            "a.toml:7:16: 'vocabularies' has 0 fields, allowed are 1 to 100");
  const std::pair<const char*, const char*> mistakes[] = {
      {"vocabularies = [5, 0]\n", "a list of integers from 1 to 10000000"},
      {"width = 1\n", "an integer from 2 to 65536"},
      {"shards = \"by_class\"\n", "one of mixed, own"},
      {"samples = 0\n", "an integer from 1 to 100000000"},
      {"table_learning_rate = -1\n", "a number from 0 to 10000"}};
  for (const auto& [line, allowed] : mistakes) {
    EXPECT_NE(errors_of("embeddings", line).find(allowed), std::string::npos) << line;
  }
  EXPECT_EQ(errors_of("embeddings", "vocabularies = [7]\nwidth = 2\nhidden = []\nshards = \"own\"\n"), "");
}

TEST(RunWorkloads, AMethodNeedsAWorkloadWithGradients) {
  EXPECT_NE(
      errors_of("heat", "", "name = \"topk\"\ndensity = 0.5\n")
          .find("'name' is 'topk', but the workload averages no gradients on which a method could act: it must be "
                "'dense'"),
      std::string::npos);
  EXPECT_EQ(errors_of("heat", "rows = 9\nperiodic = true\n", "label = \"dense\"\n"), "");
  EXPECT_NE(errors_of("heat", "process_rows = 3\n").find("process_rows is 3, must divide the number of ranks"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna::cli
