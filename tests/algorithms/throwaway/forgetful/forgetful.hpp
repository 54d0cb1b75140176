#pragma once

#include "runtime/method/method.hpp"

namespace lacuna {

/// Leaves out the first rounds of a ring, or small values, which a residual holds.
struct Forgetful {
#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/forgetful/options.def"
#undef LACUNA_OPTION
};

/// Its measures. There is one for each way in which measures add up.
namespace forgetful_measure {
inline constexpr Measure rounds = {.name = "rounds",
                                   .help = "rounds left out of the ring",
                                   .unit = Unit::Rounds,
                                   .by = CountedBy::Plan,
                                   .role = MeasureRole::Headline};
inline constexpr Measure entries = {.name = "entries", .help = "elements that were sent", .unit = Unit::Entries};
inline constexpr Measure most = {.name = "most",
                                 .help = "the most elements that were sent at once",
                                 .unit = Unit::Entries,
                                 .adds_up = AddsUp::Largest};
inline constexpr Measure magnitude = {
    .name = "magnitude", .help = "what was sent last was as large", .unit = Unit::Magnitude, .adds_up = AddsUp::Last};
inline constexpr Measure share = {
    .name = "share", .help = "share of the elements that was sent", .unit = Unit::Ratio, .adds_up = AddsUp::Mean};
}  // namespace forgetful_measure

/// The functions of the method.
Status check_forgetful(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
void plan_forgetful(const PlanRequest& request, Plan& plan);
std::optional<PartPlan> follow_forgetful(const Followed& part);

inline const Forgetful& forgetful_of(const Call& call) { return call.options.method.as<Forgetful>(); }

/// The parameters of the sparse program.
struct ForgetfulForm {
  bool smaller = false;  ///< it sends values a quarter as large, in the part that follows
  friend bool operator==(const ForgetfulForm&, const ForgetfulForm&) = default;
};
inline constexpr Parameter forgetful_parameters[] = {
    parameter::of<&ForgetfulForm::smaller>("smaller", {0, 1}, "what is a quarter as large is sent")};
template <>
inline constexpr std::span<const Parameter> declared_parameters<ForgetfulForm>{forgetful_parameters};

extern const Algorithm forgetful_sparse;

}  // namespace lacuna
