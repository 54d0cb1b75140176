#pragma once

#include "runtime/graph/builder.hpp"
#include "runtime/graph/frame.hpp"

namespace lacuna {

/// For a part whose data lie in several places of the caller's (PartPlan::stretches). They are gathered into memory of
/// the part, which is the program's input and output. The result goes where the data came from.
extern const Frame packing_frame;

/// Copies the stretches of the part to memory where they lie one behind the other.
struct GatherStretches {
  static constexpr std::string_view name = "gather stretches";
  Read from;
  Write to;

  Status operator()(const KernelCall& call) const;
};

}  // namespace lacuna
