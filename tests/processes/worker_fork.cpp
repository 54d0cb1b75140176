#include "tests/processes/worker_fork.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;

std::optional<Communicator> global;
Request unfinished;
float one = 0;

/// Prints what a child says about every call that was not refused as it must be.
void call_everything(Communicator& communicator, ReceiveRequest& request, PreparedCall& prepared) {
  const auto refused = [](const char* what, const Status& status) {
    const bool well = status.code() == Code::InvalidArgument && status.message().find("fork()") != std::string::npos;
    if (!well) fmt::print("child: {}: {}\n", what, status.to_string());
  };
  std::int64_t number = 1;
  const std::span data(&number, 1);
  refused("allreduce", communicator.call(allreduce<std::int64_t>(data, data)));
  refused("start", communicator.start(allreduce<std::int64_t>(data, data)).status());
  refused("prepare", communicator.prepare(barrier()).status());
  refused("split", communicator.split(0).status());
  refused("send", communicator.send<std::int64_t>(data, 0));
  refused("receive", communicator.receive<std::int64_t>(data, 0).status());
  refused("probe", communicator.probe(0).status());
  refused("status", communicator.status());
  refused("wait", request.wait());
  refused("wait a while", request.wait(1s));
  if (request.received_bytes() != 0) fmt::print("child: the parent's message is received\n");
  refused("start what is prepared", prepared.start());
  const bool idle = request.test() && !communicator.progress() && !communicator.next_completion();
  if (!idle || communicator.counters().messages_sent > 0) fmt::print("child: not idle\n");
}

[[noreturn]] void be_a_child(Communicator& communicator, ReceiveRequest request, PreparedCall prepared) {
  call_everything(communicator, request, prepared);
  { const Request freed = std::move(request); }
  { const Request freed = std::move(prepared); }
  { const Communicator freed = std::move(communicator); }
  fmt::print("child: done\n");
  std::exit(0);
}

}  // namespace

Status outlive_a_child(Communicator& communicator) {
  auto split = communicator.split(0);
  if (!split) return split.status();
  global = *std::move(*split);
  const Rank peer = (communicator.rank() + 1) % communicator.size();
  std::int64_t number = communicator.rank(), received = -1;
  if (communicator.rank() != 0) {
    // This message may be there before the child has ended.
    if (Status sent = communicator.send<std::int64_t>(std::span(&number, 1), 0, 5); !sent) return sent;
  } else {
    auto held = communicator.start_receive<float>(std::span(&one, 1), peer, 9);
    if (!held) return held.status();
    unfinished = *std::move(held);
    auto request = communicator.start_receive<std::int64_t>(std::span(&received, 1), peer, 5);
    if (!request) return request.status();
    auto prepared = communicator.prepare(barrier());
    if (!prepared) return prepared.status();
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) be_a_child(communicator, *std::move(request), *std::move(prepared));
    int status = 0;
    ::waitpid(child, &status, 0);
    fmt::print("child: exit {}\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    if (Status got = request->wait(); !got) return got;
    if (received != peer) return {Code::Internal, "the message is another's"};
  }
  for (int round = 0; round < 100; ++round) {
    std::int64_t sum = communicator.rank() + round;
    if (Status summed = communicator.call(allreduce<std::int64_t>(std::span(&sum, 1), std::span(&sum, 1))); !summed) {
      return summed;
    }
    const Rank size = communicator.size();
    if (sum != size * (size - 1) / 2 + size * round) return {Code::Internal, "a wrong sum"};
  }
  if (communicator.rank() == 1) {
    if (Status sent = communicator.send<float>(std::span(&one, 1), 0, 9); !sent) return sent;
  } else if (Status got = std::exchange(unfinished, Request()).wait(); !got) {
    return got;
  }
  Status end = global->call(barrier());
  global.reset();
  return end;
}

void leave_a_child() {
  std::fflush(stdout);
  if (::fork() > 0) return;
  ::sleep(30);
  ::_exit(0);
}

}  // namespace lacuna::test
