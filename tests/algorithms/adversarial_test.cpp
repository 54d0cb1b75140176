#include <gtest/gtest.h>

#include <random>

#include "algorithms/registry/registry.hpp"
#include "tests/support/collective_case.hpp"
#include "tests/support/delayed_compute.hpp"
#include "tests/support/mapping_transport.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::test {
namespace {

constexpr std::size_t largest_count = 300;

/// Draws everything from one seed: the ranks' options and the calls that are in flight together.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {
    size_ = static_cast<Rank>(1 + pick(9));
    options_.network = {.seed = seed,
                        .sends = pick(2) ? InprocOptions::Sends::Referenced : InprocOptions::Sends::Copied,
                        .eager_limit = std::size_t{64} << pick(4)};
    options_.executor = quick_executor();
    options_.executor.window_bytes = one_of({1, 300, 1 << 20});
    options_.executor.credit_bytes = one_of({0, 500, 4000, 1 << 20});
    options_.executor.eager_bytes = one_of({0, 200, 1 << 20});
    options_.executor.parts_in_flight = static_cast<std::uint32_t>(1 + pick(4));
    options_.executor.slots = static_cast<std::uint32_t>(1 + pick(3));
    options_.executor.chunk_bytes = one_of({16, 128, 1 << 20});
    if (pick(3) == 0) options_.executor.compute = delayed_compute;
    if (pick(3) == 0) {
      options_.executor.mapped_bytes = 1 + pick(200);
      options_.wrap = [](Rank, std::unique_ptr<Transport> transport) -> std::unique_ptr<Transport> {
        return std::make_unique<MappingTransport>(std::move(transport));
      };
    }
    if (pick(3) == 0) options_.devices = pick(2) ? OnDevice::All : OnDevice::Odd;
    const std::size_t hosts = 1 + pick(3);
    for (Rank rank = 0; rank < size_; ++rank) options_.hosts.push_back(static_cast<Rank>(pick(hosts)));
    const std::size_t calls = 1 + pick(6);
    while (cases_.size() < calls) {
      const Case drawn = draw_case();
      if (drawn.reduction == Reduction::Own && options_.devices != OnDevice::None) continue;  // it computes on the host
      if (drawn.algorithm->on_board && Hosts(options_.hosts).count() > 1) continue;
      cases_.push_back(drawn);
    }
  }

  Rank size() const { return size_; }
  const RanksOptions& options() const { return options_; }
  const std::vector<Case>& cases() const { return cases_; }
  std::size_t pick(std::size_t below) { return random_() % below; }

 private:
  std::size_t one_of(std::initializer_list<std::size_t> values) { return values.begin()[pick(values.size())]; }

  Case draw_case() {
    const auto all = all_algorithms();
    return offered({.algorithm = all[pick(all.size())],
                    .size = size_,
                    .count = pick(4) == 0 ? pick(4) : pick(largest_count + 1),
                    .dtype = all_dtypes[pick(all_dtypes.size())],
                    .reduction = all_reductions[pick(all_reductions.size())],
                    .placement = static_cast<Placement>(pick(3)),
                    .misalignment = pick(8),
                    .skip = static_cast<int>(pick(9)),
                    .mode = static_cast<SkipMode>(pick(2)),
                    .root = static_cast<Rank>(pick(9)),
                    .sampler = {.seed = pick(1000), .key = pick(1000), .draw = pick(1000)},
                    .shape = static_cast<Shape>(pick(shapes)),
                    .told = pick(2) == 1});
  }

  std::mt19937_64 random_;
  Rank size_ = 1;
  RanksOptions options_;
  std::vector<Case> cases_;
};

/// Makes the calls of one seed. They are in flight together, and each rank posts them at moments of its own.
class Storm {
 public:
  explicit Storm(std::uint64_t seed)
      : drawn_(seed), ranks_(drawn_.size(), drawn_.options()), oracles_(drawn_.size(), elements()) {
    const auto p = static_cast<std::size_t>(drawn_.size());
    buffers_.resize(p * drawn_.cases().size());
    samplers_.resize(buffers_.size());
    runs_.resize(p);
  }

  /// Posts and sweeps in drawn order until all calls have ended. Returns nothing, or what is wrong.
  std::string run() {
    while (!all_posted()) {
      if (drawn_.pick(3) == 0) {
        ranks_.sweep();
      } else if (std::string wrong = post_next(static_cast<Rank>(drawn_.pick(runs_.size()))); !wrong.empty()) {
        return wrong;
      }
    }
    if (!ranks_.sweep_until([this] { return all_ended(); })) return "nothing moves any more:\n" + waiting();
    return check();
  }

 private:
  std::size_t elements() const { return oracle_elements(largest_count, drawn_.size()); }
  const Case& at(std::size_t call) const { return drawn_.cases()[call]; }
  std::size_t index(Rank rank, std::size_t call) const {
    return static_cast<std::size_t>(rank) * drawn_.cases().size() + call;
  }

  bool all_posted() const {
    for (const auto& runs : runs_) {
      if (runs.size() < drawn_.cases().size()) return false;
    }
    return true;
  }
  bool all_ended() const {
    for (const auto& runs : runs_) {
      for (const runtime::Run* run : runs) {
        if (!run->finished) return false;
      }
    }
    return true;
  }

  std::string post_next(Rank rank) {
    auto& runs = runs_[static_cast<std::size_t>(rank)];
    if (runs.size() == drawn_.cases().size()) return {};
    const Case& what = at(runs.size());
    const std::size_t i = index(rank, runs.size());
    Call call = buffers_[i].prepare(what, rank, oracles_.get(what.dtype, what.reduction), samplers_[i]);
    call.options.priority = static_cast<Priority>(drawn_.pick(3));
    auto posted = ranks_.post(rank, call);
    if (!posted) return to_string(what) + ": " + posted.status().to_string();
    runs.push_back(*posted);
    return {};
  }

  std::string check() {
    for (Rank rank = 0; rank < ranks_.size(); ++rank) {
      for (std::size_t call = 0; call < drawn_.cases().size(); ++call) {
        const Case& what = at(call);
        const runtime::Run& run = *runs_[static_cast<std::size_t>(rank)][call];
        if (!run.status) return to_string(what) + ": " + run.status.to_string();
        const std::string wrong = buffers_[index(rank, call)].check(
            what, rank, oracles_.get(what.dtype, what.reduction), drawn_.options().executor.chunk_bytes);
        if (!wrong.empty()) return to_string(what) + ": " + wrong;
      }
    }
    return {};
  }

  std::string waiting() {
    std::string text;
    for (std::size_t call = 0; call < drawn_.cases().size(); ++call) {
      std::vector<runtime::Run*> by_rank;
      for (const auto& runs : runs_) by_rank.push_back(runs[call]);
      text += to_string(at(call)) + "\n" + ranks_.waiting_for(by_rank);
    }
    return text;
  }

  Drawn drawn_;
  std::vector<RankBuffers> buffers_;
  std::vector<Sampler> samplers_;
  Ranks ranks_;
  Oracles oracles_;
  std::vector<std::vector<runtime::Run*>> runs_;  // by rank
};

TEST(Adversarial, AThousandSeedsOfDrawnOrderGiveTheOraclesBits) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) ASSERT_EQ(Storm(seed).run(), "") << "seed " << seed;
}

}  // namespace
}  // namespace lacuna::test
