#pragma once

#include "tests/algorithms/topk/sparse_rig.hpp"

namespace lacuna::test {

/// What a rank gives, or gets.
struct Entries {
  std::vector<std::uint32_t> places;
  std::vector<float> values;

  friend bool operator==(const Entries&, const Entries&) = default;
};

inline Entries entries_of(const std::vector<float>& all) {
  Entries entries;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == 0) continue;
    entries.places.push_back(static_cast<std::uint32_t>(i));
    entries.values.push_back(all[i]);
  }
  return entries;
}

/// Returns entries in any order, some of them in two terms.
inline Entries shuffled(const std::vector<float>& all, unsigned seed) {
  Entries entries = entries_of(all), mixed;
  std::vector<std::size_t> order(entries.places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  for (std::size_t i : order) {
    const float part = i % 3 == 0 ? 5.0f : 0.0f;
    mixed.places.push_back(entries.places[i]);
    mixed.values.push_back(entries.values[i] - part);
    if (part == 0) continue;
    mixed.places.insert(mixed.places.begin(), entries.places[i]);
    mixed.values.insert(mixed.values.begin(), part);
  }
  return mixed;
}

class EntriesRig : public SparseRig {
 public:
  using SparseRig::SparseRig;

  Call call_of(Collective collective, const char* algorithm, const std::string& options, std::size_t count) {
    Call call{.collective = collective, .count = count};
    call.options.algorithm = algorithm;
    call.options.method = *method_options(method + ":" + options);
    return call;
  }
  std::vector<Status> run(const Call& like, const std::vector<Entries>* given, const Vectors& dense, std::size_t length,
                          std::size_t room) {
    std::vector<Call> calls;
    results.assign(states.size(), {});
    counts.assign(states.size(), 12345);
    for (std::size_t rank = 0; rank < states.size(); ++rank) {
      Call call = like;
      call.options.state = &states[rank];
      call.input = given ? (*given)[rank].values.data() : dense[rank].data();
      static constexpr std::uint32_t none = 0;
      if (given) {
        const Entries& own = (*given)[rank];
        call.input_entries = {own.places.empty() ? &none : own.places.data(), own.places.size()};
      }
      outputs[rank].assign(length, 1e9f);
      call.output = outputs[rank].data();
      if (room > 0) {
        results[rank] = {std::vector<std::uint32_t>(room), std::vector<float>(room)};
        call.output = results[rank].values.data();
        call.output_entries = {results[rank].places.data(), room, &counts[rank]};
      }
      calls.push_back(call);
    }
    std::vector<Status> ends = ranks.run(calls);
    for (std::size_t rank = 0; room > 0 && rank < states.size(); ++rank) {
      results[rank].places.resize(std::min(counts[rank], room));
      results[rank].values.resize(std::min(counts[rank], room));
    }
    return ends;
  }

  std::vector<Entries> results;
  std::vector<std::size_t> counts;
};

inline void expect_ok(const std::vector<Status>& ends) {
  for (const Status& end : ends) ASSERT_TRUE(end) << end.to_string();
}

}  // namespace lacuna::test
