#pragma once

#include <stdexcept>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::test {

inline Call allreduce_call(const std::vector<float>& input, std::vector<float>& output,
                           const char* algorithm = "ring") {
  Call call;
  call.collective = Collective::Allreduce;
  call.input = input.data();
  call.output = output.data();
  call.count = input.size();
  call.options.algorithm = algorithm;
  return call;
}

/// A broadcast in place.
inline Call broadcast_call(std::vector<float>& data, Rank root) {
  Call call;
  call.collective = Collective::Broadcast;
  call.input = call.output = data.data();
  call.count = data.size();
  call.root = root;
  return call;
}

/// The value of a measure that counts whole things.
inline std::uint64_t whole(const MeasureValues& measures, const Measure& measure) {
  return static_cast<std::uint64_t>(measures.value(measure));
}

/// Posts a call that must be accepted.
inline runtime::Run& must_post(runtime::Communicator& communicator, const Call& call) {
  const auto algorithm = select_algorithm(call, communicator.hosts());
  if (!algorithm) throw std::runtime_error(algorithm.status().to_string());
  auto posted = communicator.post(call, **algorithm);
  if (!posted) throw std::runtime_error(posted.status().to_string());
  return **posted;
}

inline runtime::Run& must_post(Ranks& ranks, Rank rank, const Call& call) {
  return must_post(ranks.communicator(rank), call);
}

}  // namespace lacuna::test
