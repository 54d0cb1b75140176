#include "runtime/config/config.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "runtime/observe/log.hpp"
#include "runtime/values/clock.hpp"

namespace lacuna::runtime {
namespace {

using std::chrono::milliseconds;

/// Begins each test in an environment without LACUNA_* variables, and restores the variables afterwards.
class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      if (text.starts_with("LACUNA_")) saved_[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
    for (const auto& [name, value] : saved_) unsetenv(name.c_str());
    set_log_levels(LogLevel::Warning);
    set_log_sink([](LogLevel, std::string_view text,
                    void* user) { static_cast<std::vector<std::string>*>(user)->emplace_back(text); },
                 &warnings_);
  }

  ~ConfigTest() override {
    set_log_sink(nullptr, nullptr);
    for (const std::string& name : set_) unsetenv(name.c_str());
    for (const auto& [name, value] : saved_) setenv(name.c_str(), value.c_str(), 1);
  }

  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

  Config read() {
    Result<Config> config = Config::from_environment();
    EXPECT_TRUE(config) << config.status().to_string();
    return config ? *config : Config();
  }

  std::string error() { return std::string(Config::from_environment().status().message()); }

  std::vector<std::string> warnings_;

 private:
  std::map<std::string, std::string> saved_;
  std::vector<std::string> set_;
};

Variable find(const std::vector<Variable>& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Variable& v) { return v.name == name; });
  return found == table.end() ? Variable() : *found;
}

TEST_F(ConfigTest, AnEmptyEnvironmentYieldsTheDefaults) {
  const Config config = read();
  EXPECT_EQ(config.rank, std::nullopt);
  EXPECT_EQ(config.size, std::nullopt);
  EXPECT_EQ(config.store, "");
  EXPECT_EQ(config.key, "");
  EXPECT_EQ(config.deadline, milliseconds(1'800'000));
  EXPECT_EQ(config.bootstrap_timeout, milliseconds(60'000));
  EXPECT_EQ(config.watch_timeout, milliseconds(10'000));
  EXPECT_EQ(config.stall, milliseconds(2'000));
  EXPECT_EQ(config.log, LogLevels(LogLevel::Warning));
  EXPECT_EQ(config.progress, Progress::Caller);
  EXPECT_TRUE(config.hints);
  EXPECT_EQ(config.kernels, "host");
  EXPECT_EQ(config.chunk, 262'144u);
  EXPECT_EQ(config.window, 1'048'576u);
  EXPECT_EQ(config.credits, 4'194'304u);
  EXPECT_EQ(config.eager, 1'073'741'824u);
  EXPECT_EQ(config.parts_in_flight, 2u);
  EXPECT_EQ(config.slots, 16u);
  EXPECT_EQ(config.max_runs, 1024u);
  EXPECT_EQ(config.spin, std::chrono::microseconds(5));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(ConfigTest, EveryKindOfValueIsRead) {
  set("LACUNA_RANK", "3");
  set("LACUNA_STORE", "[::1]:29500");
  set("LACUNA_KEY", "s e c r e t");
  set("LACUNA_DEADLINE", "2.5");
  set("LACUNA_LOG", "debug");
  set("LACUNA_PROGRESS", "thread");
  set("LACUNA_HINTS", "off");
  set("LACUNA_KERNELS", "kokkos");
  set("LACUNA_CHUNK", "3M");
  set("LACUNA_EAGER", "0");
  set("LACUNA_SLOTS", "2");
  set("LACUNA_SPIN", "0");
  set("LACUNA_HOST", "node7");
  const Config config = read();
  EXPECT_EQ(config.rank, 3);
  EXPECT_EQ(config.store, "[::1]:29500");
  EXPECT_EQ(config.key, "s e c r e t");
  EXPECT_EQ(config.deadline, milliseconds(2500));
  EXPECT_EQ(config.log, LogLevels(LogLevel::Debug));
  EXPECT_EQ(config.progress, Progress::Thread);
  EXPECT_FALSE(config.hints);
  EXPECT_EQ(config.kernels, "kokkos");
  EXPECT_EQ(config.chunk, 3'145'728u);
  EXPECT_EQ(config.eager, 0u);
  EXPECT_EQ(config.slots, 2u);
  EXPECT_EQ(config.spin, std::chrono::microseconds(0));
  EXPECT_EQ(config.host, "node7");
  EXPECT_EQ(config.machine, 0u);
}

TEST_F(ConfigTest, ValuesThatAreNotAllowedAreErrorsThatNameVariableValueAndWhatIsAllowed) {
  struct Case {
    std::string name, value, allowed;
  };
  const std::string overflow = "17179869184G";
  const std::vector<Case> cases = {
      {"LACUNA_RANK", "-1", "an integer from 0 to 2147483647"},
      {"LACUNA_RANK", "2147483648", "an integer from 0 to 2147483647"},
      {"LACUNA_SIZE", "four", "an integer from 0 to 2147483647"},
      {"LACUNA_SIZE", "4 ", "an integer from 0 to 2147483647"},
      {"LACUNA_STORE", "localhost", "host:port"},
      {"LACUNA_STORE", ":29500", "host:port"},
      {"LACUNA_STORE", "::1:29500", "host:port"},
      {"LACUNA_STORE", "a:0", "host:port"},
      {"LACUNA_STORE", "a:65536", "host:port"},
      {"LACUNA_DEADLINE", "0", "a number of seconds above 0"},
      {"LACUNA_DEADLINE", "nan", "a number of seconds above 0"},
      {"LACUNA_DEADLINE", "inf", "a number of seconds above 0"},
      {"LACUNA_DEADLINE", "5s", "a number of seconds above 0"},
      {"LACUNA_DEADLINE", "Never", "a number of seconds above 0 and up to 1000000000, such as 2.5, or never"},
      {"LACUNA_LOG", "Debug", "error, warning, info or debug"},
      {"LACUNA_PROGRESS", "both", "caller or thread"},
      {"LACUNA_HINTS", "no", "on or off"},
      {"LACUNA_KERNELS", "Kokkos", "host, x86-64, x86-64-v3, x86-64-v4 or kokkos"},
      {"LACUNA_CHUNK", "0", "a number of bytes, such as 4096, 256K, 1M or 2G, more than 0"},
      {"LACUNA_CHUNK", "K", "a number of bytes"},
      {"LACUNA_CHUNK", "1KB", "a number of bytes"},
      {"LACUNA_CHUNK", overflow, "a number of bytes"},
      {"LACUNA_SLOTS", "0", "an integer from 1 to 1048576"},
      {"LACUNA_SPIN", "-5", "an integer number of microseconds"},
      {"LACUNA_HOST", "two words", "a name of at most 255 characters"},
      {"LACUNA_HOST", "bell\a", "a name of at most 255 characters"},
      {"LACUNA_ALGORITHMS", "allreduc=ring", "collective=algorithm"},
      {"LACUNA_ALGORITHMS", "allreduce", "collective=algorithm"},
      {"LACUNA_ALGORITHMS", "allreduce=", "collective=algorithm"},
      {"LACUNA_ALGORITHMS", "allreduce=ring,,scan=x", "collective=algorithm"},
      {"LACUNA_ALGORITHMS", "allreduce=ring,allreduce=torus",
       "collective=algorithm, several separated by commas, each collective once"},
  };
  for (const Case& c : cases) {
    set(c.name, c.value);
    const Status status = Config::from_environment().status();
    EXPECT_EQ(status.code(), Code::InvalidArgument) << c.name << "=" << c.value;
    const std::string start = c.name + " is \"" + c.value + "\", allowed: " + c.allowed;
    EXPECT_EQ(status.message().substr(0, start.size()), start);
    unsetenv(c.name.c_str());
  }
}

TEST_F(ConfigTest, AWrongLogLevelOrSubsystemIsAnErrorWithTheNearestName) {
  const std::map<std::string, std::string> ends = {
      {"info,tranport=debug", "; there is no subsystem \"tranport\", did you mean \"transport\"?"},
      {"job=debg", "; there is no level \"debg\", did you mean \"debug\"?"},
      {"transport", "; the subsystem \"transport\" needs a level, such as transport=debug"},
      {"qqqqqqqq", "; there is no level \"qqqqqqqq\""},
      {"info,debug", "; a level is given twice"}};
  for (const auto& [value, end] : ends) {
    set("LACUNA_LOG", value);
    EXPECT_TRUE(error().ends_with(end)) << error();
    EXPECT_NE(error().find("(config, job, executor, transport, trace)"), std::string::npos) << error();
  }
}

TEST_F(ConfigTest, AnEmptyVariableKeepsItsDefault) {
  set("LACUNA_SLOTS", "");
  EXPECT_EQ(read().slots, 16u);
  EXPECT_EQ(find(variables(read()), "LACUNA_SLOTS").source, Variable::Source::Default);
}

TEST_F(ConfigTest, FractionsOfAMillisecondRoundUp) {
  set("LACUNA_STALL", "0.0001");
  EXPECT_EQ(read().stall, milliseconds(1));
}

TEST_F(ConfigTest, WithoutAHostVariableTheMachineNamesItself) {
  std::array<char, 256> name{};
  ASSERT_EQ(gethostname(name.data(), name.size()), 0);
  EXPECT_EQ(read().host, name.data());
  EXPECT_NE(read().machine, 0u);
  EXPECT_EQ(read().machine, read().machine);
}

TEST_F(ConfigTest, AnUnknownVariableIsAWarningWithTheNearestName) {
  set("LACUNA_DEADLNE", "3");
  EXPECT_EQ(read().deadline, milliseconds(1'800'000));
  EXPECT_EQ(warnings_, std::vector<std::string>{
                           "config: LACUNA_DEADLNE is not a variable of lacuna; did you mean LACUNA_DEADLINE?"});
}

TEST_F(ConfigTest, AnUnknownVariableLikeNoOtherIsAWarningWithoutAGuess) {
  set("LACUNA_QWERTYUIOP", "3");
  read();
  EXPECT_EQ(warnings_, std::vector<std::string>{
                           "config: LACUNA_QWERTYUIOP is not a variable of lacuna; `lacuna info` lists them"});
}

TEST_F(ConfigTest, AnUnknownVariableIsAWarningOnce) {
  set("LACUNA_ZYXWVUTSRQP", "3");
  read();
  read();
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(ConfigTest, TheTableShowsValueDefaultAndSource) {
  set("LACUNA_WINDOW", "1536K");
  const std::vector<Variable> table = variables(read());
  const Variable window = find(table, "LACUNA_WINDOW");
  EXPECT_EQ(window.value, "1536K");
  EXPECT_EQ(window.default_value, "1M");
  EXPECT_EQ(window.source, Variable::Source::Environment);
  EXPECT_EQ(find(table, "LACUNA_DEADLINE").value, "1800");
  EXPECT_EQ(find(table, "LACUNA_DEADLINE").source, Variable::Source::Default);
  for (const Variable& variable : table) {
    EXPECT_FALSE(variable.value.empty()) << variable.name;
    EXPECT_FALSE(variable.default_value.empty()) << variable.name;
    EXPECT_FALSE(variable.help.empty()) << variable.name;
  }
}

TEST_F(ConfigTest, AnyTimeMayBeNever) {
  for (const char* name : {"LACUNA_BOOTSTRAP_TIMEOUT", "LACUNA_DEADLINE", "LACUNA_WATCH_TIMEOUT", "LACUNA_STALL"}) {
    set(name, "never");
    EXPECT_EQ(find(variables(read()), name).value, "never");
  }
  EXPECT_EQ(read().watch_timeout, never);
  EXPECT_EQ(read().deadline, never);
}

TEST_F(ConfigTest, TheKeyIsNeverShown) {
  set("LACUNA_KEY", "open sesame");
  for (const Variable& variable : variables(read())) EXPECT_EQ(variable.value.find("sesame"), std::string::npos);
  EXPECT_EQ(find(variables(read()), "LACUNA_KEY").value, "set, not shown");
  set("LACUNA_SLOTS", "none");
  EXPECT_EQ(error().find("sesame"), std::string::npos);
}

TEST_F(ConfigTest, TheMarkdownTableHasOneRowPerVariable) {
  const std::string markdown = variables_as_markdown();
  const auto rows = std::count(markdown.begin(), markdown.end(), '\n') - 2;
  EXPECT_EQ(static_cast<std::size_t>(rows), variables(Config()).size());
  EXPECT_NE(markdown.find("\n| `LACUNA_CHUNK` | 256K | "), std::string::npos);
  EXPECT_NE(markdown.find("\n| `LACUNA_HOST` | the machine's name | "), std::string::npos);
}

TEST_F(ConfigTest, ShownValuesReadBackAsTheyWere) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{1536}, std::size_t{1} << 40,
                                  std::numeric_limits<std::size_t>::max()}) {
    EXPECT_EQ(variable::Bytes::parse(variable::Bytes::format(bytes)), bytes);
  }
  for (const milliseconds time : {milliseconds(1), milliseconds(2500), never - milliseconds(1), never}) {
    EXPECT_EQ(variable::Seconds::parse(variable::Seconds::format(time)), time);
  }
}

}  // namespace
}  // namespace lacuna::runtime
