#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/engine/wire.hpp"
#include "tests/algorithms/topk/sparse_rig.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/meddler.hpp"
#include "tests/support/messages.hpp"

/// Messages of a sparse method that no rank would have sent.
namespace lacuna::test {

/// Changes a message on its way from this rank to rank 0.
using Change = std::function<void(Peer from, Bytes& bytes)>;

/// Passes on all messages that have come, after changing them.
inline void pass_changed(Meddler& between, const Change& change) {
  for (auto& message : between.held) {
    change(message.from, message.bytes);
    runtime::MessageHeader header;
    std::memcpy(&header, message.header.data(), sizeof(header));
    header.bytes = static_cast<decltype(header.bytes)>(message.bytes.size());
    std::memcpy(message.header.data(), &header, sizeof(header));
  }
  while (!between.held.empty()) between.pass(0);
}

/// Makes runs of one state. In the last one messages to rank 0, which come whole, are changed. Returns how that run
/// ended there.
inline Status run_changed(const Vectors& inputs, const std::string& algorithm, const std::string& method, int runs,
                          const Change& change) {
  Meddler* between = nullptr;
  SparseRig rig(static_cast<Rank>(inputs.size()), {.network = {.eager_limit = 1 << 20},
                                                   .executor = quick_executor(),
                                                   .wrap = [&](Rank rank, std::unique_ptr<Transport> transport) {
                                                     if (rank != 0) return transport;
                                                     auto meddler = std::make_unique<Meddler>(std::move(transport));
                                                     between = meddler.get();
                                                     return std::unique_ptr<Transport>(std::move(meddler));
                                                   }});
  for (int run = 1;; ++run) {
    std::vector<runtime::Run*> posted;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      rig.outputs[rank].resize(inputs[rank].size());
      Call call = allreduce_call(inputs[rank], rig.outputs[rank], algorithm.c_str());
      call.options.method = *method_options(method);
      call.options.state = &rig.states[rank];
      posted.push_back(&must_post(rig.ranks, static_cast<Rank>(rank), call));
    }
    const auto ended = [&] {
      return run == runs ? posted[0]->finished
                         : std::all_of(posted.begin(), posted.end(), [](auto* one) { return one->finished; });
    };
    while (!ended()) {
      const bool passes = !between->held.empty();
      pass_changed(
          *between, run == runs ? change : [](Peer, Bytes&) {});
      if (!rig.ranks.sweep() && !passes && between->held.empty()) break;
    }
    EXPECT_TRUE(posted[0]->finished) << algorithm;
    if (run == runs || !posted[0]->status) return posted[0]->status;
  }
}

inline bool says(const Status& status, const std::string& text) {
  return status.code() == Code::Mismatch && status.message().find(text) != std::string::npos;
}

}  // namespace lacuna::test
