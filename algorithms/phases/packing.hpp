#pragma once

#include "runtime/graph/builder.hpp"
#include "runtime/graph/frame.hpp"

namespace lacuna {

/// The frame of a part whose data are several stretches (PartPlan::stretches). It gathers them into memory of the part,
/// which is the program's input and output, and scatters the result to where the data came from.
extern const Frame packing_frame;

/// Copies the stretches of the part, one after the other.
struct GatherStretches {
  static constexpr std::string_view name = "gather stretches";
  Read from;
  Write to;

  Status operator()(const KernelCall& call) const;
};

}  // namespace lacuna
