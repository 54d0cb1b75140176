#include "tests/algorithms/topk/changed_messages.hpp"

// What topk and methods like it say about messages that can't be right.
namespace lacuna::test {
namespace {

struct Case {
  std::string algorithm, method;
  int runs = 1;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* algorithm : {"sparse_allgather", "sparse_split", "sparse_ring", "sparse_doubling", "gtopk"}) {
    all.push_back({algorithm, "topk:density=1,feedback=0,format=coordinates"});
  }
  const std::string ok = "ok_topk:density=1,feedback=0,tau_prime=9,tau=9,format=coordinates";
  for (const char* trigger : {"", ",trigger=1"}) {
    for (int runs : {1, 2}) all.push_back({"ok_topk", ok + trigger, runs});
  }
  return all;
}

TEST(TopkDamage, AMessageThatCanNotBeIsAnErrorThatNamesItsSender) {
  const std::pair<std::size_t, const char*> places[] = {{0, "entries"}, {4, "length"}, {8, "segment"},
                                                        {12, "format"}, {13, "dtype"}, {19, "a place"}};
  for (std::size_t size : {2u, 3u}) {
    const Vectors inputs = sparse_inputs(Pattern::Full, size, 100, 1);
    for (const auto& [algorithm, method, runs] : cases()) {
      std::size_t senders = 0;
      for (Peer sender = 1; sender < size; ++sender) {
        for (const auto& [place, what] : places) {
          std::size_t changed = 0;
          const Status end = run_changed(inputs, algorithm, method, runs, [&, at = place](Peer from, Bytes& bytes) {
            const bool of_histogram = bytes.size() / 8 == 64 / size || bytes.size() / 8 == 64 / size + 1;
            if (from != sender || bytes.size() < 24 || of_histogram) return;
            bytes[at] ^= std::byte{0x55};
            ++changed;
          });
          if (changed == 0) continue;
          ++senders;
          EXPECT_TRUE(says(end, fmt::format("the message of rank {}: ", sender)))
              << algorithm << " of " << size << ", " << what << ": " << end.to_string();
        }
      }
      EXPECT_GT(senders, 0u) << algorithm;
    }
  }
}

TEST(TopkDamage, MoreEntriesThanAllRanksSelectAreAnError) {
  Vectors inputs(2, std::vector<float>(100));
  std::fill_n(inputs[0].begin() + 30, 10, 1.0f);
  for (const char* algorithm : {"sparse_doubling", "sparse_split"}) {
    const Status end = run_changed(inputs, algorithm, "topk:k=10,feedback=0,format=coordinates,ranges=even", 1,
                                   [&](Peer, Bytes& bytes) {
                                     kernels::EntriesHeader header;
                                     std::memcpy(&header, bytes.data(), sizeof(header));
                                     if (header.segment != 0) return;
                                     Sparse many{Dtype::F32, header.length, {}, std::vector<std::uint64_t>(20, 1)};
                                     for (std::uint32_t place = 0; place < 20; ++place) many.places.push_back(place);
                                     bytes = written(many, kernels::Format::Coordinates, 0);
                                   });
    EXPECT_TRUE(says(end, "the ranks have sent 30 entries of a range, at most 20 were agreed on")) << end.to_string();
  }
}

TEST(TopkDamage, CountsOfPlacesThatCanNotBeAreAnError) {
  const Vectors inputs = sparse_inputs(Pattern::Full, 2, 2000, 1);
  for (std::size_t place : {7u, 6u, 1u}) {
    const Status end = run_changed(inputs, "sparse_split", "topk:density=1,feedback=0", 1, [&](Peer, Bytes& bytes) {
      if (bytes.size() % 8 == 0 && bytes.size() >= 256) bytes[place] ^= std::byte{0xc5};
    });
    EXPECT_TRUE(says(end, "can't have been selected by 2 ranks")) << end.to_string();
  }
}

}  // namespace
}  // namespace lacuna::test
