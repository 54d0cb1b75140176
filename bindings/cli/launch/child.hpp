#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "runtime/values/fd.hpp"

namespace lacuna::cli {

using runtime::Fd;

/// What all ranks of a launch, or all aggregators, have in common.
struct Program {
  std::vector<std::string> command;
  std::vector<std::string> environment;  ///< "NAME=value", without the variables of one rank
  bool prefix = true;
  std::string what{};  ///< stands before the number in each prefix
  int first = 0;       ///< the rank whose number in prefixes is 0
};

/// Copies a stream of a child to one of the launcher's, whole lines at a time, each with a prefix.
class LineCopier {
 public:
  LineCopier(Fd from, int to, std::string prefix) : from_(std::move(from)), to_(to), prefix_(std::move(prefix)) {}

  bool is_open() const { return from_.is_open(); }
  int fd() const { return from_.get(); }
  /// Copies the lines that have arrived. At the end of the stream it also copies a last line without a line break.
  void copy();
  /// Copies what is there, and closes, because no more is expected.
  void finish();
  /// Returns the errno that says why a line could not be written, or 0 if all were.
  int lost_by() const { return lost_by_; }

 private:
  void put_lines();
  void put(std::string_view line);

  Fd from_;
  int to_;
  std::string prefix_;
  std::string pending_;
  int lost_by_ = 0;
};

/// The process of one rank, which leads a process group of its own. This object owns it until reap() or the destructor
/// has reaped it.
class Child {
 public:
  /// Starts the program with `input` as its standard input. `error` becomes 0, or the error of execvp(); then there is
  /// no child.
  static std::optional<Child> start(const Program& program, int rank, int input, int& error);
  Child(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child& operator=(Child&&) = delete;
  /// Kills the group of a child that has not been reaped.
  ~Child();

  pid_t pid() const { return pid_; }
  /// Returns a descriptor that becomes readable when the child ends; -1 before Linux 5.3.
  int pidfd() const { return pidfd_.get(); }
  std::vector<LineCopier>& copiers() { return copiers_; }
  const std::vector<LineCopier>& copiers() const { return copiers_; }
  /// Sends a signal to the child's process group.
  void signal(int number) const;
  /// Returns true once the child has ended. It stays a zombie until reap(), so that its group can't become another's.
  bool has_ended();
  /// Returns its exit code, or 128 + the signal that killed it. Valid once it has ended.
  int exit_code() const { return killed_by_ != 0 ? 128 + killed_by_ : exit_code_; }
  /// Returns "exited with code 3", or "was killed by signal 9 (Killed)".
  std::string how_it_ended() const;
  void reap();

 private:
  Child(pid_t pid, std::vector<LineCopier> copiers);

  pid_t pid_ = -1;
  Fd pidfd_;
  std::vector<LineCopier> copiers_;
  bool ended_ = false;
  int exit_code_ = 0;
  int killed_by_ = 0;
};

}  // namespace lacuna::cli
