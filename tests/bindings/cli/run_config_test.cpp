#include "bindings/cli/run_config.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "bindings/cli/run_display.hpp"
#include "bindings/cli/run_record.hpp"

namespace lacuna::cli {
namespace {

const std::string good = R"([run]
name = "small"
output = "out"
steps = 10

[workload]
kind = "fashion_mnist"
learning_rate = 0.1

[[method]]
algorithm = "ring"

[[method]]
label = "half"
algorithm = "skip_ring"
skip_steps = 2
skip_mode = "random"
)";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = good;
  return text.replace(text.find(from), from.size(), to);
}

std::string errors_of(const std::string& text, Rank ranks = 4) {
  return std::string(read_run_config({.file = "a.toml", .text = text, .hosts = ranks}).status().message());
}

std::string values_of(const std::string& text) {
  const Result<RunConfig> config = read_run_config({.file = "a.toml", .text = text, .hosts = 4});
  return config ? config->values : std::string(config.status().message());
}

TEST(RunConfig, HoldsWhatTheFileSays) {
  const Result<RunConfig> config = read_run_config({.file = "a.toml", .text = good, .hosts = 4});
  ASSERT_TRUE(config) << config.status().to_string();
  EXPECT_EQ(config->name, "small");
  EXPECT_EQ(config->output, "out");
  EXPECT_EQ(config->steps, 10U);
  EXPECT_FALSE(config->epochs);
  EXPECT_NE(config->workload, nullptr);
  ASSERT_EQ(config->methods.size(), 2U);
  EXPECT_EQ(config->methods[0].label, "ring");
  EXPECT_EQ(config->methods[1].label, "half");
  EXPECT_EQ(config->methods[1].skip.steps, 2);
  EXPECT_EQ(config->methods[1].skip.mode, SkipMode::Random);
}

TEST(RunConfig, HoldsEveryOptionOfSkipping) {
  const std::string text = replaced("skip_mode = \"random\"", R"(skip_mode = "shuffled"
skip_scale = "factor"
skip_factor = 1.5
skip_policy = "automatic"
skip_warm_up = 7
skip_schedule = [[20, 1], [40, 3]]
skip_small = 100
importance_every = 30
importance_threshold = 0.4)");
  const Result<RunConfig> config = read_run_config({.file = "a.toml", .text = text, .hosts = 4});
  ASSERT_TRUE(config) << config.status().to_string();
  const Method& method = config->methods[1];
  EXPECT_EQ(method.skip.mode, SkipMode::Shuffled);
  EXPECT_EQ(method.skip.scale, SkipScale::Factor);
  EXPECT_EQ(method.skip.factor, 1.5);
  EXPECT_FALSE(method.skip.feedback);
  EXPECT_EQ(method.policy, SkipPolicy::Automatic);
  EXPECT_EQ(method.skip.warm_up, 7U);
  ASSERT_EQ(method.schedule.size(), 2U);
  EXPECT_EQ(method.schedule[1].from_run, 40U);
  EXPECT_EQ(method.schedule[1].steps, 3);
  EXPECT_EQ(method.skip.small, 100U);
  EXPECT_EQ(method.importance.every, 30U);
  EXPECT_EQ(method.importance.threshold, 0.4);
}

TEST(RunConfig, AMethodThatSkipsNeedsNoAlgorithmButThenALabel) {
  const std::string chosen =
      replaced("algorithm = \"skip_ring\"\nskip_steps = 2", "skip_ratio = 0.5\nskip_feedback = true");
  const Result<RunConfig> config = read_run_config({.file = "a.toml", .text = chosen, .hosts = 4});
  ASSERT_TRUE(config) << config.status().to_string();
  EXPECT_EQ(config->methods[1].algorithm, "");
  EXPECT_EQ(config->methods[1].skip.ratio, 0.5);
  EXPECT_TRUE(config->methods[1].skip.feedback);
  EXPECT_TRUE(config->methods[1].skips());
  EXPECT_FALSE(config->methods[0].skips());
  EXPECT_EQ(errors_of(replaced("label = \"half\"\nalgorithm = \"skip_ring\"\n", "")),
            "a.toml:13:1: 'label' is missing in [method[1]]");
}

TEST(RunConfig, OptionsOfSkippingThatDoNotFitTogetherAreRefusedAtTheirPlace) {
  const auto with = [](const std::string& lines) { return replaced("skip_mode = \"random\"", lines); };
  EXPECT_EQ(errors_of(with("skip_factor = 2")), "a.toml:17:15: 'skip_factor' belongs to skip_scale = \"factor\"");
  EXPECT_EQ(errors_of(with("skip_scale = \"factor\"")), "a.toml:17:14: 'skip_scale' = \"factor\" needs 'skip_factor'");
  EXPECT_EQ(errors_of(with("importance_threshold = 0.2")),
            "a.toml:17:24: 'importance_threshold' belongs to skip_policy = \"automatic\"");
  EXPECT_EQ(errors_of(with("skip_policy = \"automatic\"\nimportance_every = 1"))
                .rfind("a.toml:18:20: 'importance_every' is 1, ", 0),
            0U);
  EXPECT_EQ(errors_of(replaced("skip_steps = 2\n", "")),
            "a.toml:16:13: 'skip_mode' changes nothing without 'skip_steps', 'skip_ratio' or 'skip_schedule'");
  EXPECT_EQ(errors_of(with("skip_feedback = 1")), "a.toml:17:17: 'skip_feedback' is 1, allowed is true or false");
  EXPECT_EQ(errors_of(with("skip_schedule = [[1, 2, 3]]")),
            "a.toml:17:17: 'skip_schedule' is [ [ 1, 2, 3 ] ], allowed is a list of pairs [first, second] of integers "
            "from 0 to 2147483647");
  for (const char* lines : {"skip_ratio = 0.5", "skip_schedule = [[1, 4]]", "skip_schedule = [[3, 1], [2, 1]]",
                            "skip_feedback = true\nskip_scale = \"renormalised\""}) {
    EXPECT_EQ(errors_of(with(lines)).rfind("a.toml:15:13: ", 0), 0U) << lines << ": " << errors_of(with(lines));
  }
}

TEST(RunConfig, AMethodIsJudgedOnTheHostsOfItsRanks) {
  std::string text = replaced("skip_steps = 2", "skip_steps = 1");
  text.replace(text.find("skip_ring"), std::string("skip_ring").size(), "skip_two_level");
  EXPECT_NE(errors_of(text).find("skip_steps is 1, must be 0 .. 0"), std::string::npos) << errors_of(text);
  const Hosts hosts(std::vector<Rank>{0, 0, 1, 1});
  const Status read = read_run_config({.file = "a.toml", .text = text, .hosts = hosts}).status();
  EXPECT_TRUE(read) << read.message();
}

TEST(RunConfig, TheExamplesAreAccepted) {
  const std::filesystem::path folder = std::filesystem::path(LACUNA_SOURCE) / "examples";
  for (const auto& [file, ranks] :
       {std::pair{"fashion_mnist.toml", 4}, std::pair{"parallel_mlp.toml", 8}, std::pair{"skipreduce/mlp.toml", 8},
        std::pair{"skipreduce/cnn.toml", 8}, std::pair{"skipreduce/by_class.toml", 8},
        std::pair{"skipreduce/cnn_4.toml", 4}, std::pair{"skipreduce/time.toml", 8}}) {
    std::ostringstream text;
    text << std::ifstream(folder / file).rdbuf();
    EXPECT_EQ(errors_of(text.str(), ranks), "") << file;
  }
}

TEST(RunConfig, UnknownKeyIsAnErrorWithItsPlaceAndTheNearestKey) {
  EXPECT_EQ(errors_of(replaced("learning_rate", "learning_rte")),
            "a.toml:8:1: unknown key 'learning_rte' in [workload]; did you mean 'learning_rate'?");
  EXPECT_EQ(errors_of(replaced("skip_steps", "skip_stesp")),
            "a.toml:16:1: unknown key 'skip_stesp' in [method[1]]; did you mean 'skip_steps'?");
}

TEST(RunConfig, UnknownKeyThatIsLikeNoneListsTheAllowedOnes) {
  EXPECT_EQ(errors_of("zzzzzzzz = 1\n" + good),
            "a.toml:1:1: unknown key 'zzzzzzzz' at the top level; allowed are run, workload, method");
}

TEST(RunConfig, AllErrorsAreFoundTogetherInTheOrderOfTheFile) {
  std::string text = replaced("steps = 10", "steps = \"ten\"");
  text.replace(text.find("fashion_mnist"), 13, "fashion_mnits");
  text.replace(text.find("\"random\""), 8, "\"radnom\"");
  EXPECT_EQ(
      errors_of(text),
      "a.toml:4:9: 'steps' is 'ten', allowed is an integer from 1 to 1000000000\n"
      "a.toml:7:8: 'kind' is 'fashion_mnits', allowed is one of fashion_mnist, parallel_mlp; did you mean "
      "\"fashion_mnist\"?\n"
      "a.toml:17:13: 'skip_mode' is 'radnom', allowed is one of static, random, shuffled; did you mean \"random\"?");
}

TEST(RunConfig, ValueOutOfRangeSaysWhatIsAllowed) {
  EXPECT_EQ(errors_of(replaced("learning_rate = 0.1", "momentum = 1.5")),
            "a.toml:8:12: 'momentum' is 1.5, allowed is a number from 0 to 1");
  EXPECT_EQ(errors_of(replaced("learning_rate = 0.1", "hidden = [64, 0]")),
            "a.toml:8:10: 'hidden' is [ 64, 0 ], allowed is a list of integers from 1 to 65536");
}

TEST(RunConfig, NeedsExactlyOneOfEpochsAndSteps) {
  EXPECT_NE(errors_of(replaced("steps = 10", "steps = 10\nepochs = 1")).find("either 'epochs' or 'steps'"),
            std::string::npos);
  EXPECT_NE(errors_of(replaced("steps = 10\n", "")).find("either 'epochs' or 'steps'"), std::string::npos);
}

TEST(RunConfig, MissingKeyIsAnError) {
  EXPECT_EQ(errors_of(replaced("name = \"small\"\n", "")), "a.toml:1:1: 'name' is missing in [run]");
}

TEST(RunConfig, TextThatIsNoTomlIsAnErrorWithItsPlace) {
  EXPECT_EQ(errors_of(replaced("steps = 10", "steps = = 10")).rfind("a.toml:4:", 0), 0U);
}

TEST(RunConfig, MethodsThatThisNumberOfRanksCannotRunAreRefused) {
  EXPECT_EQ(errors_of(good, 3), "");
  EXPECT_EQ(errors_of(good, 2).rfind("a.toml:15:", 0), 0U) << errors_of(good, 2);
  EXPECT_NE(errors_of(replaced("\"ring\"", "\"rign\"")).find("rign"), std::string::npos);
}

TEST(RunConfig, GridMustFitTheRanks) {
  const std::string text = replaced("\"fashion_mnist\"\n", "\"parallel_mlp\"\ndata = 2\npipeline = 2\n");
  EXPECT_EQ(errors_of(text, 4), "");
  EXPECT_EQ(errors_of(text, 5),
            "a.toml:7:8: data x tensor x pipeline = 2 x 1 x 2 = 4, but there are 5 ranks; sizes of at least 1 whose "
            "product is 5 are allowed");
}

TEST(RunConfig, LabelsDiffer) {
  EXPECT_NE(errors_of(replaced("\"half\"", "\"ring\"")).find("labels must differ"), std::string::npos);
}

TEST(RunConfig, ValuesDoNotDependOnFormattingCommentsDefaultsAndOutputKeys) {
  std::string text =
      "# a comment\n" + replaced("learning_rate = 0.1", "batch    =    16 # the default\nlearning_rate = 1e-1");
  text.replace(text.find("\"out\""), 5, "\"elsewhere\"\ncheckpoint_every = 5\nevaluate_every = 3");
  EXPECT_EQ(values_of(text), values_of(good));
}

TEST(RunConfig, ValuesDifferWhereAResultMay) {
  EXPECT_NE(values_of(replaced("0.1", "0.2")), values_of(good));
  EXPECT_NE(values_of(replaced("skip_steps = 2", "skip_steps = 1")), values_of(good));
  EXPECT_NE(values_of(replaced("steps = 10", "epochs = 10")), values_of(good));
  for (const char* line : {"skip_warm_up = 1", "skip_schedule = [[3, 1]]", "skip_feedback = true",
                           "skip_policy = \"automatic\"", "skip_scale = \"renormalised\"", "skip_small = 8"}) {
    EXPECT_NE(values_of(good + line), values_of(good)) << line;
  }
}

RunRecord sample_record() {
  const Metrics metrics{.values = {{.name = "test_accuracy", .value = 0.875, .percent = true}},
                        .fingerprint = 0xfedcba9876543210U,
                        .details = {{.name = "gradient_norm", .value = 0.5}}};
  const Cost dense{.seconds = 40, .waited = 30, .payload = 4e9};
  const Cost half{.seconds = 20, .waited = 5, .payload = 2e9};
  return {{.label = "half", .finished = true, .cost = half, .evaluations = {{10, 0.5, half, metrics}}},
          {.label = "ring", .dense = true, .finished = true, .cost = dense, .evaluations = {{10, 0.5, dense, metrics}}},
          {.label = "begun", .cost = half}};
}

TEST(RunRecord, SurvivesItsJson) {
  const std::string text = to_json(sample_record());
  const Result<RunRecord> back = record_from_json(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), text);
  EXPECT_EQ(back->front().evaluations.front().metrics.fingerprint, 0xfedcba9876543210U);
}

TEST(RunRecord, AMetricThatIsNoNumberSurvivesToo) {
  for (double value : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    RunRecord record = sample_record();
    record.front().evaluations.front().metrics.values.front().value = value;
    const Result<RunRecord> back = record_from_json(to_json(record));
    ASSERT_TRUE(back) << back.status().to_string();
    const double read = back->front().evaluations.front().metrics.values.front().value;
    EXPECT_TRUE(read == value || (std::isnan(read) && std::isnan(value))) << value;
  }
}

TEST(RunRecord, DamagedJsonIsAnError) {
  const std::string text = to_json(sample_record());
  EXPECT_EQ(record_from_json(text.substr(0, text.size() / 2)).status().code(), Code::Io);
  EXPECT_EQ(record_from_json("{}").status().code(), Code::Io);
}

TEST(RunTable, ComparesFinishedMethodsWithTheDenseOne) {
  EXPECT_EQ(table_of(sample_record()),
            "method  epochs  test accuracy    time  waiting  share  payload per rank  time / dense  bytes / dense\n"
            "----------------------------------------------------------------------------------------------------\n"
            "half      0.50        87.50 %  20.0 s    5.0 s   25 %           2.00 GB          0.50           0.50\n"
            "ring      0.50        87.50 %  40.0 s   30.0 s   75 %           4.00 GB          1.00           1.00\n");
}

TEST(RunTable, PredictsFromComputingTimeAndBytes) {
  const std::string text = prediction_of(sample_record());
  EXPECT_NE(text.find("1 Gbit/s"), std::string::npos);
  EXPECT_NE(text.find("31.0 s"), std::string::npos) << "15 s of computing and 2 GB at 1 Gbit/s\n" << text;
}

}  // namespace
}  // namespace lacuna::cli
