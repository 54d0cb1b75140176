#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/engine/compute.hpp"
#include "runtime/values/fd.hpp"

namespace lacuna::test {

/// Computations that wait until a test lets them go, as if a device were busy. They need no turn of a thread of lacuna,
/// and a descriptor tells when one has ended. Any thread.
class HeldCompute final : public runtime::Compute {
 public:
  HeldCompute();

  bool takes(std::size_t) const override { return true; }
  Started start(runtime::Work& work) override;
  runtime::Work* ended() override;
  bool wants_turn() const override { return false; }
  int event_fd() const override { return event_.get(); }
  bool arm() override;
  bool advance() override { return false; }

  std::size_t held() const;
  /// Carries out what is held now, or the first `most` of it, in its order.
  void let_go(std::size_t most = SIZE_MAX);

 private:
  mutable std::mutex mutex_;
  std::vector<runtime::Work*> held_, ended_;
  const runtime::Fd event_;
};

/// For ExecutorOptions::compute. last_held_compute() is the one that was made last.
std::unique_ptr<runtime::Compute> held_compute();
HeldCompute& last_held_compute();

}  // namespace lacuna::test
