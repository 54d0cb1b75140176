#pragma once

#include "runtime/method/method.hpp"

namespace lacuna {

/// Leaves the first rounds of a ring out.
struct Forgetful {
#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/forgetful/options.def"
#undef LACUNA_OPTION
};

/// Places in Plan::numbers and in reports, in the order of the method's names.
enum ForgetfulNumber : std::size_t { forgetful_rounds };

/// What the method's functions do.
Status check_forgetful(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
void plan_forgetful(const PlanRequest& request, Plan& plan);

}  // namespace lacuna
