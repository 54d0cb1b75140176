#include "runtime/job/pmi.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace lacuna::runtime {
namespace {

constexpr std::size_t longest_line = 65536;

/// The conversation with the launcher.
class Pmi {
 public:
  explicit Pmi(int descriptor) : descriptor_(descriptor) {}

  /// Sends a line, and returns the value of `field` in the answer, which must begin with cmd=`answer`.
  Result<std::string> ask(const std::string& line, std::string_view answer, std::string_view field = {}) {
    if (Status sent = send(line + "\n"); !sent) return sent;
    const Result<std::string> said = receive();
    if (!said) return said.status();
    const bool is_expected = value_of(*said, "cmd") == answer;
    const std::string failed = value_of(*said, "rc");
    if (!is_expected || (!failed.empty() && failed != "0")) {
      return Status(Code::Transport, fmt::format("the launcher answers \"{}\" to \"{}\"", *said, line));
    }
    return field.empty() ? std::string() : value_of(*said, field);
  }

 private:
  static std::string value_of(std::string_view line, std::string_view field) {
    while (!line.empty()) {
      const std::string_view word = line.substr(0, line.find(' '));
      line.remove_prefix(std::min(word.size() + 1, line.size()));
      if (word.starts_with(field) && word.substr(field.size()).starts_with('=')) {
        return std::string(word.substr(field.size() + 1));
      }
    }
    return {};
  }

  Status send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t bytes = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) return broken(bytes);
      text.remove_prefix(static_cast<std::size_t>(bytes));
    }
    return {};
  }

  Result<std::string> receive() {
    while (true) {
      if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
        std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
      }
      std::array<char, 4096> bytes{};
      const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return broken(count);
      if (received_.size() > longest_line) return Status(Code::Transport, "the launcher does not speak PMI-1");
      received_.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }

  static Status broken(ssize_t result) {
    return {Code::Transport, fmt::format("the launcher does not speak PMI-1 over PMI_FD: {}",
                                         result == 0 ? "it has ended" : std::generic_category().message(errno))};
  }

  int descriptor_;
  std::string received_;
};

}  // namespace

Result<std::string> share_by_pmi(int descriptor, Rank rank, const std::string& text) {
  constexpr std::string_view key = "lacuna-store";
  Pmi pmi(descriptor);
  if (auto known = pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init"); !known) return known;
  const auto space = pmi.ask("cmd=get_my_kvsname", "my_kvsname", "kvsname");
  if (!space) return space;
  if (rank == 0) {
    const auto put = pmi.ask(fmt::format("cmd=put kvsname={} key={} value={}", *space, key, text), "put_result");
    if (!put) return put;
  }
  if (auto all = pmi.ask("cmd=barrier_in", "barrier_out"); !all) return all;
  auto told = pmi.ask(fmt::format("cmd=get kvsname={} key={}", *space, key), "get_result", "value");
  if (!told) return told;
  if (auto done = pmi.ask("cmd=finalize", "finalize_ack"); !done) return done;
  return told;
}

}  // namespace lacuna::runtime
