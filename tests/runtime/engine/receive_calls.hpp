#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/lone_rank.hpp"

namespace lacuna::test {

using Floats = std::vector<float>;
using runtime::MessageHeader;
using runtime::MessageKind;

inline bool says(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string::npos;
}

inline Call reduce_call(const Floats& input, Floats& output) {
  Call call;
  call.collective = Collective::Reduce;
  call.input = input.data();
  call.output = output.data();
  call.count = input.size();
  return call;
}

inline Receive receive_of(Floats& data, int tag = 0) {
  return {.data = data.data(), .count = data.size(), .dtype = Dtype::F32, .from = 1, .tag = tag};
}

inline runtime::Run& must_receive(LoneRank& rank, Floats& data, int tag = 0) {
  auto posted = rank.communicator.post(receive_of(data, tag));
  EXPECT_TRUE(posted) << posted.status().to_string();
  return **posted;
}

/// Checks that the communicator has ended because rank 1 has sent something impossible, as the text says.
inline void expect_refused(LoneRank& rank, const std::string& text) {
  const Status status = rank.communicator.status();
  EXPECT_EQ(status.code(), Code::Mismatch) << status.to_string();
  EXPECT_TRUE(says(status, "rank 1 sent")) << status.to_string();
  EXPECT_TRUE(says(status, text)) << status.to_string() << "\nlacks: " << text;
}

/// How the message of 1200 bytes meets its receive: before or after the call is posted, eagerly or as descriptors.
struct Way {
  bool early = false;
  Delivery delivery = Delivery::Eager;
};
inline constexpr Way ways[] = {
    {false, Delivery::Eager}, {true, Delivery::Eager}, {false, Delivery::Descriptor}, {true, Delivery::Descriptor}};

/// A reduce of 300 elements at rank 0, to which rank 1 sends what `script` says.
struct Reduction300 {
  explicit Reduction300(const Way& way) : way_(way) {
    rank.wire.fetches_wait = true;
    if (!way.early) {
      post();
      return;
    }
    LoneRank other;  // it tells what the digest of the call will be
    Floats unused(300);
    must_post(other.communicator, reduce_call(input, unused));
    header = other.header_of(0, 1200);
  }

  void post() {
    run = &must_post(rank.communicator, reduce_call(input, output));
    header = rank.header_of(0, 1200);
  }
  void arrive(std::size_t begin, std::size_t end) { rank.arrive(header, theirs, begin, end, way_.delivery); }
  void meet() {
    if (!run && rank.communicator.status()) post();
    rank.progress();
  }

  LoneRank rank;
  const Floats input = Floats(300, 1), theirs = Floats(400, 10);
  Floats output = Floats(300, 0);
  MessageHeader header;
  runtime::Run* run = nullptr;

 private:
  const Way way_;
};

}  // namespace lacuna::test
