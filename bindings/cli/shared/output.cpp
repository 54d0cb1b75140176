#include "bindings/cli/shared/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace lacuna::cli {
namespace {

int lost_by = 0;  // the errno that says why standard output has lost something first; 0: nothing is lost

void note(bool written) {
  if (!written && lost_by == 0) lost_by = errno;
}

}  // namespace

void write(Stream stream, std::string_view text) {
  std::FILE* file = stream == Stream::Output ? stdout : stderr;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (stream == Stream::Output) note(written);
}

bool flush_output() {
  note(std::fflush(stdout) == 0);
  return lost_by == 0;
}

int exit_code_of(int exit_code) {
  if (flush_output()) return exit_code;
  write_error("lacuna: standard output can't be written: {}\n", std::strerror(lost_by));
  return exit_code == 0 ? 1 : exit_code;
}

}  // namespace lacuna::cli
