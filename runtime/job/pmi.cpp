#include "runtime/job/pmi.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "runtime/job/id_text.hpp"
#include "runtime/job/socket.hpp"

namespace lacuna::runtime {
namespace {

constexpr std::size_t longest_line = 65536;

std::string value_of(std::string_view line, std::string_view field) {
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    if (word.starts_with(field) && word.substr(field.size()).starts_with('=')) {
      return std::string(word.substr(field.size() + 1));
    }
  }
  return {};
}

Status broken(ssize_t result) {
  return {Code::Transport, fmt::format("the launcher does not speak PMI-1 over PMI_FD: {}",
                                       result == 0 ? "it has ended" : std::generic_category().message(errno))};
}

}  // namespace

Pmi::~Pmi() {
  if (space_.empty() || !broken_ || !home_.is_here()) return;
  deadline_ = Clock::now() + std::chrono::seconds(1);
  (void)ask("finalize", "", "finalize_ack");
}

Status Pmi::share(Rank rank, UniqueId& id, const Deadline& deadline) {
  if (Status may = home_.check(); !may) return may;
  const std::lock_guard lock(mutex_);
  if (!broken_) return broken_;
  deadline_ = deadline;
  if (space_.empty()) broken_ = begin();
  if (broken_) broken_ = meet(rank, fmt::format("lacuna-{}", shared_++), id);
  return broken_;
}

Status Pmi::begin() {
  if (Status known = ask("init", " pmi_version=1 pmi_subversion=1", "response_to_init"); !known) return known;
  if (Status named = ask("get_my_kvsname", "", "my_kvsname"); !named) return named;
  space_ = value_of(answer_, "kvsname");
  return space_.empty() ? Status(Code::Transport, "the launcher names no kvsname by PMI-1") : Status();
}

/// Rank 0 passes the barrier even if it could put nothing, because the others wait there.
Status Pmi::meet(Rank rank, const std::string& name, UniqueId& id) {
  const std::string where = fmt::format(" kvsname={} key={}", space_, name);
  Status put;
  if (rank == 0) put = ask("put", fmt::format("{} value={}", where, text_of(id)), "put_result");
  if (Status all = ask("barrier_in", "", "barrier_out"); !all) return all;
  if (rank == 0) return put;
  if (Status got = ask("get", where, "get_result"); !got) return got;
  if (read_id(value_of(answer_, "value"), id)) return {};
  return {Code::Transport, "PMI-1 brings no unique id of lacuna from rank 0"};
}

Status Pmi::ask(std::string_view command, std::string_view arguments, std::string_view answer) {
  if (Status sent = send(fmt::format("cmd={}{}\n", command, arguments)); !sent) return sent;
  if (Status got = receive(); !got) return got;
  const std::string said = value_of(answer_, "cmd"), result = value_of(answer_, "rc");
  if (said == answer && (result.empty() || result == "0")) return {};
  return {Code::Transport, fmt::format("the launcher answers \"{}\" with rc={} ({}) to \"{}\" of PMI-1", said,
                                       result.empty() ? "0" : result, value_of(answer_, "msg"), command)};
}

Status Pmi::send(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t bytes = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return broken(bytes);
    text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return {};
}

Status Pmi::receive() {
  while (true) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      answer_ = received_.substr(0, end);
      received_.erase(0, end + 1);
      return {};
    }
    if (received_.size() > longest_line) return {Code::Transport, "the launcher does not speak PMI-1 over PMI_FD"};
    if (!wait_for(descriptor_, POLLIN, deadline_)) {
      return {Code::TimedOut, "the launcher has not answered by PMI-1: not all ranks join, or it has stopped"};
    }
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return broken(count);
    received_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace lacuna::runtime
