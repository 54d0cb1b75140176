#include "tests/processes/executed.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <thread>

namespace lacuna::test {
namespace {

constexpr std::chrono::milliseconds look_again{5};

[[noreturn]] void become(const std::vector<std::string>& command, const Environment& environment, int output) {
  std::vector<std::string> inherited;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view variable(*entry);
    if (variable.starts_with("LACUNA_")) inherited.emplace_back(variable.substr(0, variable.find('=')));
  }
  for (const std::string& name : inherited) ::unsetenv(name.c_str());
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

Executed::Executed(const std::vector<std::string>& command, const Environment& environment)
    : process_([&](const Process::Say&) { become(command, environment, output_.fd()); }) {}

bool Executed::says(const std::string& part, std::chrono::milliseconds within) const {
  const auto until = runtime::Clock::now() + within;
  while (true) {
    const bool last_look = has_ended() || runtime::Clock::now() >= until;
    if (output().find(part) != std::string::npos) return true;
    if (last_look) return false;
    std::this_thread::sleep_for(look_again);
  }
}

bool Executed::has_ended() const {
  siginfo_t info{};
  const int asked = ::waitid(P_PID, static_cast<id_t>(process_.pid()), &info, WEXITED | WNOHANG | WNOWAIT);
  return asked != 0 || info.si_pid != 0;  // it is no child any more, because it was waited for
}

int Executed::wait(std::chrono::milliseconds within) {
  const auto until = runtime::Clock::now() + within;
  do {
    if (has_ended()) return process_.wait();
    std::this_thread::sleep_for(look_again);
  } while (runtime::Clock::now() < until);
  return -1;
}

Job::Job(const std::vector<std::vector<std::string>>& commands, const Environment& environment)
    : commands_(commands), environment_(environment), ranks_(commands.size()) {
  for (std::size_t rank = 0; rank < commands.size(); ++rank) restart(rank);
}

void Job::restart(std::size_t rank) {
  Environment mine = {{"LACUNA_RANK", std::to_string(rank)},
                      {"LACUNA_SIZE", std::to_string(commands_.size())},
                      {"LACUNA_STORE", port_.store()},
                      {"LACUNA_KEY", "the key of this test"},
                      {"LACUNA_HOST", "here"}};
  mine.insert(environment_.begin(), environment_.end());
  ranks_[rank] = std::make_unique<Executed>(commands_[rank], mine);
}

}  // namespace lacuna::test
