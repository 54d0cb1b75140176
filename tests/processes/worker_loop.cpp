#include "tests/processes/worker_loop.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include "tests/support/event_loop.hpp"

namespace lacuna::test {
namespace {

constexpr std::chrono::seconds patience{20};

const Status slept(Code::Internal, "the loop was not woken");

}  // namespace

Status end_in_a_loop(Communicator& communicator, Call call) {
  call.options.notify = 1;
  auto started = communicator.start(call);
  if (!started) return started.status();
  const bool served = serve(communicator, patience, [](const Completion&) { return true; });
  return served ? started->wait() : slept;
}

Status talk_to_oneself_in_a_loop(Communicator& communicator) {
  constexpr std::size_t messages = 40;  // the longer ones wait at their sender
  std::vector<std::vector<std::int32_t>> sent, received;
  for (std::size_t i = 0; i < messages; ++i) {
    sent.emplace_back(i % 2 == 0 ? 100 : 2'000'000, static_cast<std::int32_t>(i));
    received.emplace_back(sent.back().size());
  }
  std::vector<Request> requests;
  std::thread poster([&] {
    for (std::size_t i = 0; i < messages; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // long enough for the loop to sleep
      const std::span<const std::int32_t> data(sent[i]);
      const auto receive = [&] {
        auto started = communicator.start_receive<std::int32_t>(received[i], communicator.rank(), 1, {.notify = 1});
        if (started) requests.push_back(*std::move(started));
      };
      if (i % 3 == 0) receive();
      auto started = communicator.start_send(data, communicator.rank(), 1, {.notify = 1});
      if (started) requests.push_back(*std::move(started));
      if (i % 3 != 0) receive();
    }
  });
  std::size_t ended = 0;
  const bool served = serve(communicator, patience, [&](const Completion&) { return ++ended == 2 * messages; });
  poster.join();
  if (!served) return slept;
  for (Request& request : requests) {
    if (Status well = request.wait(); !well) return well;
  }
  return sent == received ? Status() : Status(Code::Internal, "other messages have come");
}

}  // namespace lacuna::test
