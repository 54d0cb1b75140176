#pragma once

#include <vector>

#include "tests/support/ranks.hpp"

namespace lacuna::test {

inline Call allreduce_call(const std::vector<float>& input, std::vector<float>& output, const char* algorithm = "ring") {
  Call call;
  call.collective = Collective::Allreduce;
  call.input = input.data();
  call.output = output.data();
  call.count = input.size();
  call.options.algorithm = algorithm;
  return call;
}

/// In place.
inline Call broadcast_call(std::vector<float>& data, Rank root) {
  Call call;
  call.collective = Collective::Broadcast;
  call.input = call.output = data.data();
  call.count = data.size();
  call.root = root;
  return call;
}

/// Posts a call that must be accepted.
inline runtime::Run& must_post(Ranks& ranks, Rank rank, const Call& call) {
  auto posted = ranks.post(rank, call);
  if (!posted) throw std::runtime_error(posted.status().to_string());
  return **posted;
}

}  // namespace lacuna::test
