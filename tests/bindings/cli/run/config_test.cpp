#include "bindings/cli/run/config.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/skip.hpp"

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
name = "skip"
algorithm = "ring"
steps = 2
mode = "random"
)";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = good;
  return text.replace(text.find(from), from.size(), to);
}

/// The beginning of the second method.
const std::string second = "label = \"half\"\nname = \"skip\"\nalgorithm = \"ring\"\n";

/// Returns the second method with these lines in place of its mode.
std::string with(const std::string& lines) { return replaced("mode = \"random\"", lines); }

const Skip& skip_of(const MethodChoice& choice) { return choice.options.as<Skip>(); }

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
  EXPECT_FALSE(config->methods[0].options);
  EXPECT_EQ(config->methods[1].algorithm, "ring");
  EXPECT_EQ(config->methods[1].options.method(), &skip_method);
  EXPECT_EQ(skip_of(config->methods[1]).steps, 2);
  EXPECT_EQ(skip_of(config->methods[1]).mode, SkipMode::Random);
  EXPECT_EQ(config->methods[1].options.text(), "skip:steps=2,mode=random");
}

TEST(RunConfig, HoldsEveryOptionOfSkipping) {
  const std::string text = with(R"(mode = "shuffled"
scale = "factor"
factor = 1.5
policy = "automatic"
warm_up = 7
schedule = [[20, 1], [40, 3]]
small = 100
importance_every = 30
importance_threshold = 0.4
audit = 50
audit_samples = 256)");
  const Result<RunConfig> config = read_run_config({.file = "a.toml", .text = text, .hosts = 4});
  ASSERT_TRUE(config) << config.status().to_string();
  const Skip& skip = skip_of(config->methods[1]);
  EXPECT_EQ(skip.mode, SkipMode::Shuffled);
  EXPECT_EQ(skip.scale, SkipScale::Factor);
  EXPECT_EQ(skip.factor, 1.5);
  EXPECT_FALSE(skip.feedback);
  EXPECT_EQ(skip.policy, SkipPolicy::Automatic);
  EXPECT_EQ(skip.warm_up, 7U);
  ASSERT_EQ(skip.schedule.size(), 2U);
  EXPECT_EQ(skip.schedule[1].from_run, 40U);
  EXPECT_EQ(skip.schedule[1].steps, 3);
  EXPECT_EQ(skip.small, 100U);
  EXPECT_EQ(skip.importance_every, 30U);
  EXPECT_EQ(skip.importance_threshold, 0.4);
  EXPECT_EQ(skip.audit, 50U);
  EXPECT_EQ(skip.audit_samples, 256U);
}

/// Returns the value as it is written in a config.
std::string toml_of(const Option& option, const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* name = std::get_if<std::string>(&value)) return "\"" + *name + "\"";
  if (option.kind == Option::Kind::Pairs) return "[]";
  const std::string text = value_text(value);
  return option.kind == Option::Kind::Number && text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

TEST(RunConfig, TakesEveryOptionOfEveryMethodUnderItsOwnName) {
  for (const Method* method : all_methods()) {
    const std::shared_ptr<void> defaults = method->make(nullptr);
    for (const Option& option : method->options) {
      const std::string lines = fmt::format("[[method]]\nname = \"{}\"\nlabel = \"other\"\n{} = {}\n", method->name,
                                            option.name, toml_of(option, option.get(defaults.get())));
      const std::string errors = errors_of(good + lines);
      EXPECT_EQ(errors.find("unknown key"), std::string::npos) << errors;
      EXPECT_EQ(errors.find("allowed is"), std::string::npos) << errors;
    }
  }
}

TEST(RunConfig, AMethodThatSkipsNeedsNoAlgorithmAndIsLabelledByItsName) {
  const std::string chosen = replaced("algorithm = \"ring\"\nsteps = 2", "ratio = 0.5\nfeedback = true");
  const Result<RunConfig> config = read_run_config({.file = "a.toml", .text = chosen, .hosts = 4});
  ASSERT_TRUE(config) << config.status().to_string();
  EXPECT_EQ(config->methods[1].algorithm, "");
  EXPECT_EQ(skip_of(config->methods[1]).ratio, 0.5);
  EXPECT_TRUE(skip_of(config->methods[1]).feedback);
  EXPECT_TRUE(is_on(config->methods[1].options));
  EXPECT_FALSE(is_on(config->methods[0].options));
  const auto labelled = [](const std::string& lines) {
    const auto read = read_run_config({.file = "a.toml", .text = replaced(second, lines), .hosts = 4});
    return read ? read->methods[1].label : std::string(read.status().message());
  };
  EXPECT_EQ(labelled("name = \"skip\"\n"), "skip");
  EXPECT_EQ(labelled("name = \"skip\"\nalgorithm = \"skip_ring\"\n"), "skip_ring");
  EXPECT_EQ(errors_of(good + "[[method]]\n"), "a.toml:19:1: 'label' is missing in [method[2]]");
}

TEST(RunConfig, AMethodThatIsUnknownIsAnErrorAtItsPlaceWithTheNearest) {
  const std::string errors = errors_of(replaced("name = \"skip\"", "name = \"skpi\""));
  EXPECT_EQ(errors.rfind("a.toml:15:8: 'name' is 'skpi', allowed is one of dense, skip", 0), 0U) << errors;
  const std::string near = errors_of(replaced("name = \"skip\"", "name = \"skipp\""));
  EXPECT_NE(near.find("; did you mean \"skip\"?"), std::string::npos) << near;
}

TEST(RunConfig, OptionsOfAMethodWithoutItsNameAreUnknownKeys) {
  const std::string errors = errors_of(replaced("name = \"skip\"\n", ""));
  EXPECT_EQ(errors,
            "a.toml:16:1: unknown key 'steps' in [method[1]]; allowed are name, algorithm, label, only, lists\n"
            "a.toml:17:1: unknown key 'mode' in [method[1]]; allowed are name, algorithm, label, only, lists");
}

TEST(RunConfig, OptionsOfSkippingThatDoNotFitTogetherAreRefusedAtTheirPlace) {
  const auto unused = [](const std::string& place, const std::string& key) {
    return fmt::format("a.toml:{}: '{}' changes nothing as the other options are", place, key);
  };
  EXPECT_EQ(errors_of(with("factor = 2")), unused("18:10", "factor"));
  EXPECT_EQ(errors_of(with("importance_threshold = 0.2")), unused("18:24", "importance_threshold"));
  EXPECT_EQ(errors_of(with("importance_every = 30")), unused("18:20", "importance_every"));
  EXPECT_EQ(errors_of(with("audit_samples = 30")), unused("18:17", "audit_samples"));
  EXPECT_EQ(errors_of(with("policy = \"automatic\"\nimportance_every = 1"))
                .rfind("a.toml:19:20: 'importance_every' is 1, ", 0),
            0U);
  EXPECT_EQ(errors_of(replaced("steps = 2\n", "")), unused("17:8", "mode"));
  EXPECT_EQ(errors_of(with("feedback = 1")), "a.toml:18:12: 'feedback' is 1, allowed is true or false");
  EXPECT_EQ(
      errors_of(with("schedule = [[1, 2, 3]]"))
          .rfind("a.toml:18:12: 'schedule' is [ [ 1, 2, 3 ] ], allowed is a list of pairs [first, second] of integers "
                 "from 0 to ",
                 0),
      0U);
  EXPECT_EQ(errors_of(with("schedule = [[3, 1], [2, 1]]")).rfind("a.toml:18:12: schedule is 3:1/2:1, must be ", 0), 0U);
  for (const char* lines : {"ratio = 0.5", "schedule = [[1, 4]]", "feedback = true\nscale = \"renormalised\""}) {
    EXPECT_EQ(errors_of(with(lines)).rfind("a.toml:16:13: ", 0), 0U) << lines << ": " << errors_of(with(lines));
  }
  EXPECT_NE(errors_of(with("schedule = [[1, 4294967297]]")), "") << "1 + 2^32 steps are not 1";
}

TEST(RunConfig, AMethodIsJudgedOnTheHostsOfItsRanks) {
  const std::string text = replaced("algorithm = \"ring\"\nsteps = 2", "algorithm = \"skip_two_level\"\nsteps = 1");
  EXPECT_NE(errors_of(text).find("skip.steps is 1, must be 0 .. 0"), std::string::npos) << errors_of(text);
  const Hosts hosts(std::vector<Rank>{0, 0, 1, 1});
  const Status read = read_run_config({.file = "a.toml", .text = text, .hosts = hosts}).status();
  EXPECT_TRUE(read) << read.message();
}

TEST(RunConfig, TheExamplesAreAccepted) {
  const std::filesystem::path folder = std::filesystem::path(LACUNA_SOURCE) / "examples";
  for (const auto& [file, ranks] :
       {std::pair{"fashion_mnist.toml", 4}, std::pair{"parallel_mlp.toml", 8}, std::pair{"skipreduce/mlp.toml", 8},
        std::pair{"skipreduce/cnn.toml", 8}, std::pair{"skipreduce/by_class.toml", 8},
        std::pair{"skipreduce/cnn_4.toml", 4}, std::pair{"skipreduce/time.toml", 8},
        std::pair{"sparse/methods.toml", 4}, std::pair{"sparse/time.toml", 4}, std::pair{"embeddings/clicks.toml", 8},
        std::pair{"heat/heat.toml", 4}}) {
    std::ostringstream text;
    text << std::ifstream(folder / file).rdbuf();
    EXPECT_EQ(errors_of(text.str(), ranks), "") << file;
  }
}

TEST(RunConfig, UnknownKeyIsAnErrorWithItsPlaceAndTheNearestKey) {
  EXPECT_EQ(errors_of(replaced("learning_rate", "learning_rte")),
            "a.toml:8:1: unknown key 'learning_rte' in [workload]; did you mean 'learning_rate'?");
  EXPECT_EQ(errors_of(replaced("steps = 2", "stesp = 2")),
            "a.toml:17:1: unknown key 'stesp' in [method[1]]; did you mean 'steps'?");
}

TEST(RunConfig, UnknownKeyThatIsLikeNoneListsTheAllowedOnes) {
  EXPECT_EQ(errors_of("zzzzzzzz = 1\n" + good),
            "a.toml:1:1: unknown key 'zzzzzzzz' at the top level; allowed are run, workload, method");
}

TEST(RunConfig, AllErrorsAreFoundTogetherInTheOrderOfTheFile) {
  std::string text = replaced("steps = 10", "steps = \"ten\"");
  text.replace(text.find("fashion_mnist"), 13, "fashion_mnits");
  text.replace(text.find("\"random\""), 8, "\"radnom\"");
  EXPECT_EQ(errors_of(text),
            "a.toml:4:9: 'steps' is 'ten', allowed is an integer from 1 to 1000000000\n"
            "a.toml:7:8: 'kind' is 'fashion_mnits', allowed is one of embeddings, fashion_mnist, heat, parallel_mlp; "
            "did you mean "
            "\"fashion_mnist\"?\n"
            "a.toml:18:8: 'mode' is 'radnom', allowed is one of static, random, shuffled; did you mean \"random\"?");
}

TEST(RunConfig, ValueOutOfRangeSaysWhatIsAllowed) {
  EXPECT_EQ(errors_of(replaced("learning_rate = 0.1", "momentum = 1.5")),
            "a.toml:8:12: 'momentum' is 1.5, allowed is a number from 0 to 1");
  EXPECT_EQ(errors_of(replaced("learning_rate = 0.1", "hidden = [64, 0]")),
            "a.toml:8:10: 'hidden' is [ 64, 0 ], allowed is a list of integers from 1 to 65536");
  EXPECT_EQ(errors_of(replaced("steps = 2", "steps = -1"))
                .rfind("a.toml:17:9: 'steps' is -1, allowed is an integer from 0 to 2147483647", 0),
            0U);
  EXPECT_EQ(errors_of(replaced("steps = 2", "ratio = 1.5"))
                .rfind("a.toml:17:9: 'ratio' is 1.5, allowed is a number from 0 to 1", 0),
            0U);
}

TEST(RunConfig, NeedsExactlyOneOfEpochsAndSteps) {
  EXPECT_NE(errors_of(replaced("steps = 10", "steps = 10\nepochs = 1")).find("either 'epochs' or 'steps'"),
            std::string::npos);
  EXPECT_NE(errors_of(replaced("steps = 10\n", "")).find("either 'epochs' or 'steps'"), std::string::npos);
}

TEST(RunConfig, HasOneSeedOrSeveral) {
  const auto seeds_of = [](const std::string& lines) {
    const auto read =
        read_run_config({.file = "a.toml", .text = replaced("steps = 10", "steps = 10\n" + lines), .hosts = 4});
    EXPECT_TRUE(read) << read.status().to_string();
    return read ? read->seeds : std::vector<std::uint64_t>();
  };
  EXPECT_EQ(seeds_of(""), std::vector<std::uint64_t>{1});
  EXPECT_EQ(seeds_of("seed = 7"), std::vector<std::uint64_t>{7});
  EXPECT_EQ(seeds_of("seeds = [3, 1]"), (std::vector<std::uint64_t>{3, 1}));
  const auto refused = [](const std::string& lines) {
    return errors_of(replaced("steps = 10", "steps = 10\n" + lines));
  };
  EXPECT_EQ(refused("seed = 1\nseeds = [1]"), "a.toml:6:9: [run] has both 'seed' and 'seeds'");
  EXPECT_EQ(refused("seeds = []"), "a.toml:5:9: 'seeds' is empty; it needs at least one seed");
  EXPECT_EQ(refused("seeds = [2, 3, 2]"), "a.toml:5:9: 'seeds' has a seed twice");
}

TEST(RunConfig, LabelsAreNamesOfFolders) {
  for (const char* label : {"a/b", ".", "..", "a\\tb"}) {
    EXPECT_NE(errors_of(replaced("\"half\"", fmt::format("\"{}\"", label))).find("'label' names a folder"),
              std::string::npos)
        << label;
  }
  EXPECT_EQ(errors_of(replaced("\"half\"", "\"... 5 % ü\"")), "");
  EXPECT_EQ(errors_of(replaced("\"half\"", fmt::format("\"{}\"", std::string(200, 'a')))), "");
  EXPECT_NE(errors_of(replaced("\"half\"", fmt::format("\"{}\"", std::string(201, 'a')))), "");
}

TEST(RunConfig, TheManualHasThePageOfAllKeys) {
  std::ifstream file(LACUNA_SOURCE "/docs/experiment_keys.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), keys_as_markdown()) << "make it by `lacuna run --keys`";
}

TEST(RunConfig, EveryKeyOfThePageHasAMeaning) {
  std::istringstream page(keys_as_markdown());
  std::size_t keys = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    ++keys;
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 5) << line;
    EXPECT_FALSE(line.ends_with("|  |")) << line;
  }
  std::size_t options = 0;
  for (const Method* method : all_methods()) options += method->options.size();
  EXPECT_GT(keys, options + 8);
}

TEST(RunConfig, MissingKeyIsAnError) {
  EXPECT_EQ(errors_of(replaced("name = \"small\"\n", "")), "a.toml:1:1: 'name' is missing in [run]");
}

TEST(RunConfig, TextThatIsNoTomlIsAnErrorWithItsPlace) {
  EXPECT_EQ(errors_of(replaced("steps = 10", "steps = = 10")).rfind("a.toml:4:", 0), 0U);
}

TEST(RunConfig, MethodsThatThisNumberOfRanksCannotRunAreRefused) {
  EXPECT_EQ(errors_of(good, 3), "");
  EXPECT_EQ(errors_of(good, 2).rfind("a.toml:16:", 0), 0U) << errors_of(good, 2);
  EXPECT_NE(errors_of(replaced("\"ring\"", "\"rign\"")).find("rign"), std::string::npos);
}

TEST(RunConfig, GridMustFitTheRanks) {
  const std::string text = replaced("\"fashion_mnist\"\n", "\"parallel_mlp\"\ndata = 2\npipeline = 2\n");
  EXPECT_EQ(errors_of(text, 4), "");
  EXPECT_EQ(errors_of(text, 5),
            "a.toml:7:8: data x tensor x pipeline = 2 x 1 x 2 = 4, but the job has 5 ranks; sizes of at least 1 whose "
            "product is 5 are allowed");
}

TEST(RunConfig, LabelsDiffer) {
  EXPECT_NE(errors_of(replaced("\"half\"", "\"ring\"")).find("labels must differ"), std::string::npos);
}

TEST(RunConfig, ValuesDoNotDependOnFormattingCommentsDefaultsAndOutputKeys) {
  std::string text =
      "# a comment\n" + replaced("learning_rate = 0.1", "batch    =    16 # the default\nlearning_rate = 1e-1");
  text.replace(text.find("[[method]]\nalgorithm"), 11, "[[method]]\nname = \"dense\"\n");
  text.replace(text.find("mode = "), 0, "scale = \"zero_fill\" # the default\nwarm_up = 0\n");
  text.replace(text.find("\"out\""), 5, "\"elsewhere\"\ncheckpoint_every = 5\nevaluate_every = 3");
  EXPECT_EQ(values_of(text), values_of(good));
}

TEST(RunConfig, ValuesDifferWhereAResultMay) {
  EXPECT_NE(values_of(replaced("0.1", "0.2")), values_of(good));
  EXPECT_NE(values_of(replaced("steps = 2", "steps = 1")), values_of(good));
  EXPECT_NE(values_of(replaced(second + "steps = 2\nmode = \"random\"", "label = \"half\"")), values_of(good));
  EXPECT_NE(values_of(replaced("steps = 10", "epochs = 10")), values_of(good));
  for (const char* line : {"warm_up = 1", "schedule = [[3, 1]]", "feedback = true", "policy = \"automatic\"",
                           "scale = \"renormalised\"", "small = 8", "audit = 10"}) {
    EXPECT_NE(values_of(good + line), values_of(good)) << line;
  }
}

}  // namespace
}  // namespace lacuna::cli
