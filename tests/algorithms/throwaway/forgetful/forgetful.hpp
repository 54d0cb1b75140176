#pragma once

#include "runtime/method/method.hpp"

namespace lacuna {

/// Leaves the first rounds of a ring out; or small values, of which a residual keeps the rest.
struct Forgetful {
#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/forgetful/options.def"
#undef LACUNA_OPTION
};

/// Places in Plan::numbers and in reports, in the order of the method's names.
enum ForgetfulNumber : std::size_t { forgetful_rounds, forgetful_entries };

/// What the method's functions do.
Status check_forgetful(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
void plan_forgetful(const PlanRequest& request, Plan& plan);
std::optional<PartPlan> follow_forgetful(const Followed& part);

inline const Forgetful& forgetful_of(const Call& call) { return call.options.method.as<Forgetful>(); }

/// In Structure::numbers of the sparse program: 1 in the part that follows, which sends what is a quarter as large.
inline constexpr std::size_t forgetful_stage = 0;
extern const Algorithm forgetful_sparse;

}  // namespace lacuna
