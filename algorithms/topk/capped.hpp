#pragma once

#include "algorithms/phases/not_finite.hpp"
#include "algorithms/phases/sparse_kernels.hpp"

/// Topk can cap sums: then a message holds no more entries than a limit. The rank that drops an entry adds it to its
/// residual, so that nothing is lost. Source of the residual of dropped sums: Zhao, Xie, et al.: SparDL (2023).
namespace lacuna {

/// Ports of a kernel that may cap a sum. They are empty if the form of the program does not ask for caps.
struct CapRooms {
  sparse::WriteList kept{};
  Write workspace{};
  Write residual{};  ///< at the places of the sum
  NotFiniteRooms not_finite{};
};
/// Makes rooms to cap sums of all places.
CapRooms cap_rooms(GraphBuilder& g);

/// Returns the largest of these entries, `most` of them at most. The others are added to the residual, which is not
/// scaled, and count as kept. What is not finite there is dropped, and the entries that are returned tell it.
kernels::EntriesView cap(const KernelCall& call, const CapRooms& rooms, const kernels::EntriesView& entries,
                         std::size_t most);

/// Ports of a kernel that writes the message of a sum, which may be capped.
struct CappedSum {
  sparse::MergeRooms rooms;
  CapRooms cap;
  sparse::WriteMessage message;
};
/// Sums up the views of a range, caps the sum to `most` entries if the form asks for it, scales it and writes it as a
/// message.
Status merge_capped(const KernelCall& call, const CappedSum& to, const sparse::Views& views, const sparse::Range& range,
                    Scale scale, std::size_t most);

}  // namespace lacuna
