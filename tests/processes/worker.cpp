// One rank of a test's job. It carries out its arguments one after the other, and prints what became of each.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/skip.hpp"
#include "bindings/cli/perf/data.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "tests/processes/worker_conformance.hpp"
#include "tests/processes/worker_exchange.hpp"
#include "tests/processes/worker_fork.hpp"
#include "tests/processes/worker_loop.hpp"
#include "tests/processes/worker_signals.hpp"
#include "tests/processes/worker_soak.hpp"
#include "tests/processes/worker_storm.hpp"
#include "tests/support/event_loop.hpp"
#include "tests/support/skip_call.hpp"

namespace lacuna::test {
namespace {

using Clock = std::chrono::steady_clock;

class Worker {
 public:
  explicit Worker(Communicator communicator) : communicator_(std::move(communicator)) {}

  /// size=N: this is a job of N ranks, and they hear each other. It must come first.
  bool size(const std::string& expected) { return hear_each_other("size", communicator_, expected); }

  /// outer=N: the communicator before the first split has N ranks, and they hear each other.
  bool outer(const std::string& expected) { return hear_each_other("outer", outer_.front(), expected); }

  /// split=N: continues with the ranks whose number has the same rest modulo N, in descending order.
  bool split(const std::string& colours) {
    auto part = communicator_.split(communicator_.rank() % std::stoi(colours), -communicator_.rank());
    fmt::print("split: {}\n", part.status().to_string());
    if (!part) return false;
    outer_.push_back(std::exchange(communicator_, *std::move(*part)));
    return true;
  }

  bool conformance(const std::string& what) {
    const Status status = run_conformance(communicator_, what == "corrupt");
    fmt::print("conformance: {}\n", status.to_string());
    return status.is_ok();
  }

  /// storm=N: makes that many interleaved calls and messages.
  bool storm(const std::string& operations) {
    const Status status = run_storm(communicator_, 0, std::stoul(operations));
    fmt::print("storm: {}\n", status.to_string());
    return status.is_ok();
  }

  /// soak=SECONDS[,leak]: storms for so long; fails if what this process holds grows meanwhile.
  bool soak(const std::string& text) {
    const Status status = run_soak(communicator_, std::chrono::seconds(std::stoi(text)), text.ends_with(",leak"));
    fmt::print("soak: {}\n", status.to_string());
    return status.is_ok();
  }

  /// call=COLLECTIVE,DTYPE,REDUCTION,COUNT,ROOT,ALGORITHM,SKIP: makes the call. What is left out at the end has
  /// defaults. SKIP is a number of rounds, or the text of a method with ; for commas.
  bool call(const std::string& text) {
    fmt::print("call: {}\n", communicator_.call(parse(text)).to_string());
    return true;
  }

  /// exchange=N: makes that many rounds of neighbour exchanges and messages.
  bool exchange(const std::string& rounds) {
    const Status status = run_exchanges(communicator_, std::stoul(rounds));
    fmt::print("exchange: {}\n", status.to_string());
    return status.is_ok();
  }

  /// any: receives from any rank a message that nobody sends.
  bool any(const std::string&) {
    std::vector<float> room(1);
    fmt::print("waiting for any\n");
    std::fflush(stdout);
    fmt::print("call: {}\n", communicator_.receive_any<float>(room).status().to_string());
    return true;
  }

  /// loop=CALL: makes the call in an event loop.
  bool loop(const std::string& text) {
    fmt::print("call: {}\n", end_in_a_loop(communicator_, parse(text)).to_string());
    return true;
  }

  /// talk: receives messages of this rank itself, which another thread posts, in an event loop.
  bool talk(const std::string&) {
    const Status status = talk_to_oneself_in_a_loop(communicator_);
    fmt::print("talk: {}\n", status.to_string());
    return status.is_ok();
  }

  /// posts=N: makes that many calls and messages, posted by each of two threads, in an event loop.
  bool posts(const std::string& number) {
    const Status status = post_into_a_loop(communicator_, std::stoul(number));
    fmt::print("posts: {}\n", status.to_string());
    return status.is_ok();
  }

  /// child: rank 0 of two makes a child that must not touch the job.
  bool child(const std::string&) {
    const Status status = outlive_a_child(communicator_);
    fmt::print("parent: {}\n", status.to_string());
    return status.is_ok();
  }

  /// orphan: makes a child that lives on for a while.
  bool orphan(const std::string&) {
    leave_a_child();
    return true;
  }

  /// signals=N: checks that the N threads of the library block all signals.
  bool signals(const std::string& threads) {
    const Status status = find_signals_blocked(std::stoul(threads));
    fmt::print("signals: {}\n", status.to_string());
    return status.is_ok();
  }

  /// draws: prints whose terms random calls without a sampler have, piece by piece.
  bool draws(const std::string&) {
    fmt::print("draws:");
    const auto size = static_cast<std::size_t>(communicator_.size());
    Status status;
    for (int i = 0; i < 8 && status; ++i) {
      std::vector<std::int64_t> data(size, std::int64_t{1} << communicator_.rank());
      Options options{.algorithm = "skip_ring", .method = skip({.steps = 1, .mode = SkipMode::Random})};
      status = communicator_.call(allreduce<std::int64_t>(data, data, Reduction::Sum, std::move(options)));
      for (std::int64_t ranks : data) fmt::print(" {}", ranks);
    }
    fmt::print("\n");
    return status.is_ok();
  }

  /// peers=CALL: makes the call and prints to whom this rank has sent payload.
  bool peers(const std::string& text) {
    std::vector<std::uint64_t> before;
    for (Rank peer = 0; peer < communicator_.size(); ++peer) {
      before.push_back(communicator_.counters(peer).payload_sent);
    }
    const Status status = communicator_.call(parse(text));
    fmt::print("peers:");
    for (Rank peer = 0; peer < communicator_.size(); ++peer) {
      if (communicator_.counters(peer).payload_sent > before[static_cast<std::size_t>(peer)]) fmt::print(" {}", peer);
    }
    fmt::print("\n");
    return status.is_ok();
  }

  /// hold=CALL: starts the call and holds the request until the end.
  bool hold(const std::string& text) {
    auto request = communicator_.start(parse(text));
    fmt::print("hold: {}\n", request.status().to_string());
    if (request) held_.push_back(std::move(*request));
    return true;
  }

  /// stream=CALL: repeats the call, four in flight with a state each, until it fails. It says so after some rounds.
  bool stream(const std::string& text) {
    Call call = parse(text);
    Status status;
    std::array<MethodState, 4> states;
    for (int round = 0; status; ++round) {
      std::vector<Request> requests;
      for (std::size_t i = 0; i < states.size() && status; ++i) {
        if (call.options.method) call.options.state = &states[i];
        auto request = communicator_.start(call);
        status = request.status();
        if (request) requests.push_back(std::move(*request));
      }
      for (Request& request : requests) {
        if (Status ended = request.wait(); !ended) status = ended;
      }
      if (round == 20) fmt::print("streaming\n");
      std::fflush(stdout);
    }
    fmt::print("call: {}\n", status.to_string());
    return true;
  }

  /// poisoned=MS: checks that the communicator is poisoned after MS milliseconds at most, and that every further call
  /// returns the reason at once.
  bool poisoned(const std::string& milliseconds) {
    const auto until = Clock::now() + std::chrono::milliseconds(milliseconds.empty() ? 0 : std::stoi(milliseconds));
    while (communicator_.status() && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::string reason = communicator_.status().to_string();
    if (communicator_.status()) {
      fmt::print("poisoned: no\n");
      return false;
    }
    const auto start = Clock::now();
    bool same = true;
    for (Collective collective : all_collectives) {
      const Call call = parse(std::string(to_string(collective)));
      same = same && communicator_.call(call).to_string() == reason;
      same = same && communicator_.start(call).status().to_string() == reason;
    }
    for (Request& request : held_) same = same && request.test() && request.wait().to_string() == reason;
    const bool at_once = Clock::now() - start < std::chrono::milliseconds(1500);
    fmt::print("poisoned: {}\n", !same ? "not by every call" : !at_once ? "slowly" : reason);
    return same;
  }

  /// gate=PATH: waits until there is such a file, so that all ranks come here before any goes on.
  bool gate(const std::string& path) {
    fmt::print("at the gate\n");
    std::fflush(stdout);
    while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return true;
  }

  bool sleep(const std::string& milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(milliseconds)));
    return true;
  }

 private:
  static bool hear_each_other(const char* what, Communicator& communicator, const std::string& expected) {
    std::int64_t ranks = std::int64_t{1} << communicator.rank();
    const std::span one(&ranks, 1);
    const Status status = communicator.call(allreduce<std::int64_t>(one, one));
    const bool right = status && std::to_string(communicator.size()) == expected &&
                       ranks == (std::int64_t{1} << communicator.size()) - 1;
    fmt::print("{} {}: {}\n", what, communicator.size(), right ? "right" : "wrong " + status.to_string());
    return right;
  }

  Call parse(const std::string& text) {
    std::vector<std::string> words = {""};
    for (char letter : text) letter == ',' ? void(words.emplace_back()) : void(words.back() += letter);
    const std::vector<std::string> defaults = {"", "f32", "sum", "1000", "0", "", "0"};
    words.insert(words.end(), defaults.begin() + static_cast<std::ptrdiff_t>(words.size()), defaults.end());
    Call call{.collective = parse_collective(words[0]).value(),
              .count = std::stoul(words[3]),
              .dtype = parse_dtype(words[1]).value(),
              .reduction = parse_reduction(words[2]).value(),
              .root = std::stoi(words[4])};
    call.options.algorithm = words[5];
    if (words[6].find(':') != std::string::npos) {
      std::replace(words[6].begin(), words[6].end(), ';', ',');
      call.options.method = *method_options(words[6]);
    } else if (const int steps = std::stoi(words[6]); steps > 0) {
      skip_in(call)->steps = steps;
    }
    const std::size_t bytes = call.count * size_of(call.dtype) * static_cast<std::size_t>(communicator_.size());
    memory_.emplace_back(2 * bytes, std::byte{1}, &mappable_memory());
    call.input = memory_.back().data();
    call.output = memory_.back().data() + bytes;
    counts_.emplace_back();
    cli::give_tables(call, communicator_.rank(), communicator_.size(), counts_.back());
    return call;
  }

  std::vector<std::pmr::vector<std::byte>> memory_;  // memory of all calls, whether they have ended or not
  std::vector<std::vector<std::size_t>> counts_;
  Communicator communicator_;
  std::vector<Communicator> outer_;  // the communicators that were split
  std::vector<Request> held_;
};

int work(const std::vector<std::string>& arguments) {
  static const std::map<std::string, bool (Worker::*)(const std::string&)> actions = {
      {"size", &Worker::size},         {"conformance", &Worker::conformance},
      {"split", &Worker::split},       {"call", &Worker::call},
      {"hold", &Worker::hold},         {"stream", &Worker::stream},
      {"poisoned", &Worker::poisoned}, {"sleep", &Worker::sleep},
      {"gate", &Worker::gate},         {"storm", &Worker::storm},
      {"peers", &Worker::peers},       {"loop", &Worker::loop},
      {"talk", &Worker::talk},         {"posts", &Worker::posts},
      {"child", &Worker::child},       {"orphan", &Worker::orphan},
      {"soak", &Worker::soak},         {"draws", &Worker::draws},
      {"outer", &Worker::outer},       {"signals", &Worker::signals},
      {"exchange", &Worker::exchange}, {"any", &Worker::any}};
  auto joined = Communicator::world();
  fmt::print("join: {}\n", joined.status().to_string());
  if (!joined) return EXIT_FAILURE;
  bool well = true;
  Clock::time_point end;
  {
    Worker worker(std::move(*joined));
    for (const std::string& argument : arguments) {
      std::fflush(stdout);
      const std::size_t equals = std::min(argument.find('='), argument.size());
      const std::string value = argument.substr(std::min(equals + 1, argument.size()));
      well = (worker.*actions.at(argument.substr(0, equals)))(value);
      if (!well) break;
    }
    end = Clock::now();
  }
  fmt::print("left after {} ms\n", std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - end).count());
  return well ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace lacuna::test

int main(int argc, char** argv) { return lacuna::test::work({argv + 1, argv + argc}); }
