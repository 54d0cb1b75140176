#include "tests/support/output_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace lacuna::test {

OutputFile::OutputFile() : file_(::memfd_create("output", MFD_CLOEXEC)) {
  // Processes do not lock the position of a file in memory, so without appending one line could overwrite another.
  ::fcntl(file_.get(), F_SETFL, O_APPEND);
}

std::string OutputFile::text() const {
  struct stat info {};
  ::fstat(file_.get(), &info);
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t count = ::pread(file_.get(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

}  // namespace lacuna::test
