// Calls whose instructions instructions.py counts under callgrind. Two ranks share one thread, so that nothing waits
// and each run is like the others. For each case the program makes some calls first, then clears callgrind's counts,
// makes `calls` calls, and dumps the counts under the name of the case.
#include <fmt/format.h>
#include <valgrind/callgrind.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bindings/cpp/lacuna.hpp"

namespace {

using namespace lacuna;

constexpr int warmup = 30, calls = 100;

[[noreturn]] void fail(const Status& status) {
  fmt::print(stderr, "{}\n", status.to_string());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) fail(result.status());
  return *std::move(result);
}

/// Two ranks, each with an input and an output.
class Pair {
 public:
  explicit Pair(std::size_t bytes) : ranks_(must(Communicator::local(2, {.progress = Progress::Caller}))) {
    for (std::size_t rank : {0, 1}) {
      for (std::size_t i = 0; i < bytes / sizeof(float); ++i) input_[rank].push_back(static_cast<float>(i % 97));
      output_[rank].resize(input_[rank].size());
    }
  }

  void call(const MethodOptions& method) {
    std::array<CallRequest, 2> requests;
    for (std::size_t rank : {0, 1}) {
      Options options{.method = method};
      if (method) options.state = &states_[rank];
      auto started = ranks_[rank].start(allreduce<float>(input_[rank], output_[rank], Reduction::Sum, options));
      requests[rank] = must(std::move(started));
    }
    end(requests);
  }

  void prepare() {
    for (std::size_t rank : {0, 1}) {
      prepared_.push_back(must(ranks_[rank].prepare(allreduce<float>(input_[rank], output_[rank]))));
    }
  }
  void start_prepared() {
    for (PreparedCall& one : prepared_) {
      if (Status started = one.start(); !started) fail(started);
    }
    end(prepared_);
  }

 private:
  template <class Requests>
  static void end(Requests& requests) {
    for (bool ended = false; !ended;) {
      ended = true;
      for (auto& one : requests) ended = one.test() && ended;
    }
    for (auto& one : requests) {
      if (Status status = one.wait(); !status) fail(status);
    }
  }

  std::vector<Communicator> ranks_;
  std::array<std::vector<float>, 2> input_, output_;
  std::array<MethodState, 2> states_;
  std::vector<PreparedCall> prepared_;
};

void count(const std::string& name, const std::function<void()>& once) {
  for (int i = 0; i < warmup; ++i) once();
  CALLGRIND_ZERO_STATS;
  for (int i = 0; i < calls; ++i) once();
  CALLGRIND_DUMP_STATS_AT(name.c_str());
}

}  // namespace

int main() {
  CALLGRIND_START_INSTRUMENTATION;
  for (const std::size_t bytes : {8, 1 << 10, 64 << 10}) {
    Pair pair(bytes);
    count(fmt::format("call of {} bytes", bytes), [&] { pair.call({}); });
    pair.prepare();
    count(fmt::format("prepared call of {} bytes", bytes), [&] { pair.start_prepared(); });
  }
  for (const std::string method : {"skip:steps=1", "topk:density=0.01", "ok_topk:density=0.01", "blocks",
                                   "sketch:ratio=0.25", "cast:to=bf16", "quantize:bits=8"}) {
    Pair pair(64 << 10);
    const MethodOptions options = must(method_options(method));
    count(fmt::format("call of 65536 bytes with {}", method), [&] { pair.call(options); });
  }
  fmt::print("{}\n", calls);
}
