#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "tests/support/output_file.hpp"
#include "tests/support/process.hpp"

namespace lacuna::test {

/// Variables for a program. It sees no other LACUNA_ variables.
using Environment = std::map<std::string, std::string>;

/// A program in a process of its own. The test reads both of its output streams. The program is killed with this
/// object.
class Executed {
 public:
  Executed(const std::vector<std::string>& command, const Environment& environment);

  std::string output() const { return output_.text(); }
  /// Returns true once `part` has been printed, and false if it does not come within the time or before the end.
  bool says(const std::string& part, std::chrono::milliseconds within = std::chrono::seconds(120)) const;
  void signal(int number) const { process_.signal(number); }
  pid_t pid() const { return process_.pid(); }
  /// Returns its exit code, or 128 + the signal that killed it, or -1 if it has not ended within the time.
  int wait(std::chrono::milliseconds within = std::chrono::seconds(300));

 private:
  bool has_ended() const;

  OutputFile output_;
  Process process_;
};

/// Ranks of one job. Each is a process with its own LACUNA_RANK, SIZE, STORE and KEY.
class Job {
 public:
  /// `commands` are ordered by rank.
  Job(const std::vector<std::vector<std::string>>& commands, const Environment& environment);
  /// Starts the process of a rank again, with the same command.
  void restart(std::size_t rank);

  std::size_t size() const { return ranks_.size(); }
  Executed& operator[](std::size_t rank) { return *ranks_[rank]; }

 private:
  ReservedPort port_;
  std::vector<std::vector<std::string>> commands_;
  Environment environment_;
  std::vector<std::unique_ptr<Executed>> ranks_;
};

}  // namespace lacuna::test
