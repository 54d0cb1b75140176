#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/environment.hpp"

namespace lacuna::test {

/// A gate at which ranks wait while it is closed, as it is at first.
class Gate {
 public:
  /// What a worker does to wait at the gate. It says "at the gate" before.
  std::string action() const { return "gate=" + path().string(); }
  void open() const { std::ofstream(path()).put('\n'); }
  void close() const { std::filesystem::remove(path()); }

 private:
  std::filesystem::path path() const { return folder_ / "open"; }

  const Folder folder_;
};

}  // namespace lacuna::test
