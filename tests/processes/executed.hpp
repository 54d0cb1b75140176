#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "tests/support/output_file.hpp"
#include "tests/support/process.hpp"

namespace lacuna::test {

/// Variables for a program; it sees no other LACUNA_ variables.
using Environment = std::map<std::string, std::string>;

/// A program in a process of its own, both of whose output streams the test reads. Killed with this object.
class Executed {
 public:
  Executed(const std::vector<std::string>& command, const Environment& environment);

  std::string output() const { return output_.text(); }
  /// True once `part` has been printed; false if that does not come within the time or before the end.
  bool says(const std::string& part, std::chrono::milliseconds within = std::chrono::seconds(120)) const;
  void signal(int number) const { process_.signal(number); }
  pid_t pid() const { return process_.pid(); }
  /// Its exit code, or 128 + the signal that killed it; -1 if it has not ended within the time.
  int wait(std::chrono::milliseconds within = std::chrono::seconds(300));

 private:
  bool has_ended() const;

  OutputFile output_;
  Process process_;
};

/// Ranks of one job, each a process with LACUNA_RANK, SIZE, STORE and KEY of its own.
class Job {
 public:
  /// `commands` by rank.
  Job(const std::vector<std::vector<std::string>>& commands, const Environment& environment);

  std::size_t size() const { return ranks_.size(); }
  Executed& operator[](std::size_t rank) { return *ranks_[rank]; }

 private:
  ReservedPort port_;
  std::vector<std::unique_ptr<Executed>> ranks_;
};

}  // namespace lacuna::test
