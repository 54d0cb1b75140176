#pragma once

#include <string>

#include "runtime/values/fd.hpp"

namespace lacuna::test {

/// A file in memory that holds what processes print. Several processes may write at the same time: each write is
/// appended.
class OutputFile {
 public:
  OutputFile();
  int fd() const { return file_.get(); }
  std::string text() const;

 private:
  runtime::Fd file_;
};

}  // namespace lacuna::test
