#pragma once

#include "algorithms/phases/sparse_kernels.hpp"

/// Sums of topk that are capped: a message holds no more than so many entries. The rank that drops an entry adds it to
/// its residual, so that nothing is lost. Source of the residual of dropped sums: Zhao, Xie, et al.: SparDL (2023).
namespace lacuna {

/// The rooms that a step needs to cap a sum. Its writes name them after its merge rooms; after them comes the residual
/// of the places of the sum.
std::vector<Region> cap_rooms(GraphBuilder& g);

/// Returns the largest of these entries, `most` of them at most. The others are added to the residual, and count as
/// kept. The step writes its merge rooms, cap_rooms() and the residual.
kernels::EntriesView cap(const KernelCall& call, const kernels::EntriesView& entries, std::size_t most);

/// Sums up the views, caps the sum, scales it and writes it as the message of a range. Defines the call's first value
/// as the bytes of the message. The step writes its merge rooms, cap_rooms() and the residual.
Status merge_capped(const KernelCall& call, const sparse::Views& views, const sparse::Range& range, Scale scale,
                    std::size_t most);

}  // namespace lacuna
