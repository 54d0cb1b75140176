#pragma once

#include "runtime/graph/builder.hpp"

namespace lacuna {

/// The pair of phases around a program whose data lie in several places of the caller's (PartPlan::stretches).

/// They are gathered into memory of the part, which is the program's input and output from now on.
void gather_data(GraphBuilder& g);
/// The result goes where the data came from.
void scatter_data(GraphBuilder& g);

/// The buffer of the run is the program's input and output.
void use_run_memory(GraphBuilder& g);

/// Copies the stretches of the part to memory where they lie one behind the other.
struct GatherStretches {
  static constexpr std::string_view name = "gather stretches";
  Read from;
  Write to;

  Status operator()(const KernelCall& call) const;
};

}  // namespace lacuna
