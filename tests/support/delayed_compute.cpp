#include "tests/support/delayed_compute.hpp"

#include <mutex>
#include <random>
#include <vector>

namespace lacuna::test {
namespace {

class DelayedCompute final : public runtime::Compute {
 public:
  bool takes(std::size_t) const override { return true; }
  Started start(runtime::Work& work) override {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(&work);
    return Started::Pending;
  }
  runtime::Work* ended() override {
    const std::lock_guard lock(mutex_);
    if (ended_.empty()) return nullptr;
    runtime::Work* work = ended_.back();
    ended_.pop_back();
    return work;
  }
  bool wants_turn() const override {
    const std::lock_guard lock(mutex_);
    return !waiting_.empty() || !ended_.empty();
  }
  bool advance() override {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return false;
    if (random_() % 2 == 0) return true;  // it ends later
    const auto one = waiting_.begin() + static_cast<std::ptrdiff_t>(random_() % waiting_.size());
    carry_out(**one);
    ended_.push_back(*one);
    waiting_.erase(one);
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::mt19937 random_{7};
  std::vector<runtime::Work*> waiting_, ended_;
};

}  // namespace

std::unique_ptr<runtime::Compute> delayed_compute() { return std::make_unique<DelayedCompute>(); }

}  // namespace lacuna::test
