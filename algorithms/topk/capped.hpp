#pragma once

#include "algorithms/phases/sparse_kernels.hpp"

/// Sums of topk that hold no more than so many entries on their way. Who drops one feeds it back: no mass is lost.
/// Source of the residual of dropped sums: Zhao, Xie, et al.: SparDL (2023).
namespace lacuna {

/// What steps that cap write behind their merge rooms, beside the residual of the places of their sum.
std::vector<Region> cap_rooms(GraphBuilder& g);

/// The largest of these entries, so many at most; those dropped count as kept. A step writes cap_rooms() and the
/// residual behind its merge rooms.
kernels::EntriesView cap(const KernelCall& call, const kernels::EntriesView& entries, std::size_t most);

/// Writes the message of a range, of the sum of the views, which is capped before it is scaled, and defines the call's
/// first value as its bytes; the call writes merge rooms, cap_rooms() and the residual.
Status merge_capped(const KernelCall& call, const sparse::Views& views, const sparse::Range& range, Scale scale,
                    std::size_t most);

}  // namespace lacuna
