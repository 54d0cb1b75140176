#pragma once

#include <array>
#include <cstddef>

namespace lacuna {

/// Brings the ranks of one job together: it says where rank 0 listens, and holds a secret that admits processes to the
/// job. Whoever reads it can join, so it travels by what the ranks trust. All zeros: there is none.
struct UniqueId {
  std::array<std::byte, 128> bytes{};

  explicit operator bool() const { return bytes != std::array<std::byte, 128>{}; }
  bool operator==(const UniqueId&) const = default;
};

}  // namespace lacuna
