#include "tests/support/event_loop.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace lacuna::test {
namespace {

constexpr std::size_t most_in_flight = 200;  // of each thread
constexpr std::size_t most_elements = 20'000;
constexpr std::chrono::seconds patience{20};

using Ints = std::vector<std::int32_t>;

/// An allreduce or a message. All ranks draw the same one.
struct Draw {
  bool message = false;
  Rank from = 0, to = 0;
  std::size_t count = 0;
};

Draw draw(std::uint64_t thread, std::size_t number, Rank size) {
  std::mt19937_64 random(thread << 32 | number);
  const auto rank = [&] { return static_cast<Rank>(random() % static_cast<std::uint64_t>(size)); };
  const std::size_t most = random() % 8 == 0 ? most_elements : 100;
  return {random() % 2 == 0, rank(), rank(), random() % most};
}

/// What this rank posts for one draw. A message to itself has two sides.
struct Posted {
  Ints sent, received, expected;
  std::vector<Request> requests;  // they end before the buffers do
};

/// A thread that posts on a communicator of its own. Each post has a number as its token.
class Poster {
 public:
  Poster(Communicator communicator, std::uint64_t thread, std::size_t posts)
      : communicator_(std::move(communicator)), thread_(thread), posts_(posts) {
    const Rank rank = communicator_.rank();
    for (std::size_t number = 0; number < posts; ++number) {
      const Draw drawn = draw(thread_, number, communicator_.size());
      to_end_ += drawn.message ? std::size_t{drawn.from == rank} + std::size_t{drawn.to == rank} : 1;
    }
  }

  void run() {
    for (std::size_t number = 0; number < posts_ && failure_; ++number) {
      while (started_ - ended > most_in_flight && !given_up) std::this_thread::yield();
      if (given_up) return;
      post(number);
    }
  }
  bool is_over() const { return ended == to_end_; }
  /// Call it after run().
  Status outcome() {
    for (Posted& one : posted_) {
      for (Request& request : one.requests) {
        if (Status well = request.wait(); !well) return well;
      }
      if (one.received != one.expected) return {Code::Internal, "a post has brought other data"};
    }
    return failure_;
  }

  std::atomic<std::size_t> ended{0};
  std::atomic<bool> given_up{false};

 private:
  void post(std::size_t number) {
    const Draw drawn = draw(thread_, number, communicator_.size());
    const Rank rank = communicator_.rank(), size = communicator_.size();
    const auto value = static_cast<std::int32_t>(number);
    const bool sends = !drawn.message || drawn.from == rank, receives = !drawn.message || drawn.to == rank;
    Posted& one = posted_.emplace_back();
    if (sends) one.sent.assign(drawn.count, value);
    if (receives) one.received.assign(drawn.count, -1);
    if (receives) one.expected.assign(drawn.count, drawn.message ? value : value * size);
    const std::span<const std::int32_t> sent(one.sent);
    const std::span received(one.received);
    if (!drawn.message) {
      return keep(one, communicator_.start(allreduce(sent, received, Reduction::Sum, {.notify = thread_})));
    }
    if (sends) keep(one, communicator_.start_send(sent, drawn.to, 1, {.notify = thread_}));
    if (receives) keep(one, communicator_.start_receive(received, drawn.from, 1, {.notify = thread_}));
  }
  void keep(Posted& one, auto request) {
    if (!request) return void(failure_ = request.status());
    one.requests.push_back(*std::move(request));
    ++started_;
  }

  Communicator communicator_;
  const std::uint64_t thread_;
  const std::size_t posts_;
  std::size_t to_end_ = 0;
  std::deque<Posted> posted_;
  std::atomic<std::size_t> started_{0};
  Status failure_;
};

}  // namespace

bool serve(Communicator& communicator, std::chrono::milliseconds longest_sleep,
           const std::function<bool(const Completion&)>& take) {
  const auto until = std::chrono::steady_clock::now() + 10 * longest_sleep;
  while (std::chrono::steady_clock::now() < until) {
    while (!communicator.arm()) communicator.progress();
    pollfd sleeper{communicator.event_fd(), POLLIN, 0};
    if (::poll(&sleeper, 1, static_cast<int>(longest_sleep.count())) != 1) return false;
    while (communicator.progress()) continue;
    while (const auto completion = communicator.next_completion()) {
      if (take(*completion)) return true;
    }
  }
  return false;
}

Status post_into_a_loop(Communicator& world, std::size_t posts) {
  std::vector<std::unique_ptr<Poster>> posters;
  for (std::uint64_t thread : {0, 1}) {
    auto own = world.split(0);
    if (!own) return own.status();
    posters.push_back(std::make_unique<Poster>(*std::move(*own), thread, posts));
  }
  std::vector<std::thread> threads;
  for (auto& poster : posters) threads.emplace_back([&poster] { poster->run(); });
  const bool served = serve(world, patience, [&](const Completion& completion) {
    ++posters[completion.token]->ended;
    return std::all_of(posters.begin(), posters.end(), [](const auto& poster) { return poster->is_over(); });
  });
  for (auto& poster : posters) poster->given_up = !served;
  for (std::thread& thread : threads) thread.join();
  if (!served) return {Code::TimedOut, "the loop was not woken"};
  for (auto& poster : posters) {
    if (Status outcome = poster->outcome(); !outcome) return outcome;
  }
  return world.call(barrier());
}

}  // namespace lacuna::test
