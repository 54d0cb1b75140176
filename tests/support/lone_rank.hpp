#pragma once

#include <vector>

#include "runtime/communicator/communicator.hpp"
#include "runtime/engine/executor.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/scripted_transport.hpp"

namespace lacuna::test {

/// Rank 0 of a job. The test plays the other ranks, and decides what they send.
class LoneRank {
 public:
  explicit LoneRank(Rank size = 2, const runtime::ExecutorOptions& options = quick_executor())
      : LoneRank(std::make_unique<ScriptedTransport>(size), size, options) {}
  ~LoneRank() { static_cast<void>(executor.close(std::chrono::milliseconds(0))); }

  /// The header with which an honest rank begins message 0 of part 0 of this call.
  runtime::MessageHeader header_of(std::uint32_t run, std::size_t bytes) {
    const auto posted = static_cast<runtime::Watched&>(executor).posted(id, run);
    const std::uint64_t history = posted ? posted->history : 0;
    return {
        .communicator = id, .bytes = bytes, .run = run, .digest = static_cast<std::uint32_t>(history ^ history >> 32)};
  }
  /// The header of message `number` in the stream of a tag.
  static runtime::MessageHeader message(std::uint32_t tag, std::uint32_t number, std::size_t bytes,
                                        Dtype dtype = Dtype::F32) {
    return {.communicator = id,
            .bytes = bytes,
            .run = tag,
            .digest = number,
            .kind = runtime::MessageKind::Message,
            .dtype = dtype};
  }
  /// Rank 1 sends the bytes [begin, end) of `data` as a fragment.
  void arrive(runtime::MessageHeader header, const std::vector<float>& data, std::size_t begin, std::size_t end,
              Delivery delivery = Delivery::Eager) {
    header.begin_at(begin);
    wire.arrive(1, header, std::as_bytes(std::span(data)).subspan(begin, end - begin), delivery);
    progress();
  }
  void progress() {
    while (executor.progress()) {
    }
  }
  std::uint64_t duplicates() const { return executor.job_counters().duplicate_fragments; }

  static constexpr std::uint64_t id = 7;
  ScriptedTransport& wire;
  runtime::Executor executor;
  runtime::Communicator communicator;

 private:
  LoneRank(std::unique_ptr<ScriptedTransport> transport, Rank size, const runtime::ExecutorOptions& options)
      : wire(*transport), executor(std::move(transport), 0, size, options), communicator(executor, id) {
    static_cast<void>(executor.connect(std::vector<std::vector<std::byte>>(static_cast<std::size_t>(size))));
  }
};

}  // namespace lacuna::test
