#include "algorithms/registry/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "algorithms/registry/check_method.hpp"
#include "algorithms/registry/growing_list.hpp"
#include "algorithms/registry/preferences.hpp"
#include "algorithms/registry/verified_graphs.hpp"
#include "runtime/values/nearest.hpp"

namespace lacuna {

#define LACUNA_ALGORITHM(name) extern const Algorithm name;
#include "algorithms/manifest.def"
#undef LACUNA_ALGORITHM
#define LACUNA_METHOD(name) extern const Method name;
#include "algorithms/methods.def"
#undef LACUNA_METHOD

namespace {

constexpr std::array own_algorithms = {
#define LACUNA_ALGORITHM(name) &name,
#include "algorithms/manifest.def"
#undef LACUNA_ALGORITHM
};

#define LACUNA_METHOD(name) &name,
constexpr std::array own_methods = {
#include "algorithms/methods.def"
};
#undef LACUNA_METHOD

GrowingList<Algorithm>& registered() {
  static GrowingList<Algorithm> all({});
  return all;
}

/// lacuna's own methods, then those that were registered.
GrowingList<Method>& methods() {
  static GrowingList<Method> all(own_methods);
  return all;
}

/// Returns the name of the algorithm that is asked for, or nothing.
std::string_view wanted_name(const Call& call, const Hosts& hosts, std::string_view instead) {
  if (!call.options.algorithm.empty()) return call.options.algorithm;
  const Method* method = asks_for_method(call) ? call.options.method.method() : nullptr;
  if (!instead.empty() && (!method || method->find(call.collective, instead))) return instead;
  const std::string_view preferred = method && method->preferred ? method->preferred(call, hosts) : std::string_view();
  return method && method->find(call.collective, preferred) ? preferred : std::string_view();
}

/// Finds an algorithm, also by the name that it has when it serves a method. Without a name it is the first one.
const Algorithm* find(Collective collective, std::string_view name) {
  for (const auto list : {all_algorithms(), registered_algorithms()}) {
    for (const Algorithm* one : list) {
      if (one->collective == collective && (name.empty() || one->name == name)) return one;
    }
  }
  for (const Method* method : all_methods()) {
    if (const MethodAlgorithm* one = method->find(collective, name)) return one->algorithm;
  }
  return nullptr;
}

/// Finds the algorithm for a call that asks for one of this name, or for none.
const Algorithm* find(const Call& call, const Hosts& hosts, std::string_view wanted) {
  const Preference* row = wanted.empty() && !asks_for_method(call) ? preference(call, hosts) : nullptr;
  return row ? row->algorithm : find(call.collective, wanted);
}

/// The graphs of registered algorithms.
VerifiedGraphs& verified_graphs() {
  static VerifiedGraphs graphs;
  return graphs;
}

bool is_registered(const Algorithm& algorithm) {
  const auto others = registered_algorithms();
  return std::find(others.begin(), others.end(), &algorithm) != others.end();
}

std::mutex registering;  // lists grow under it

/// Returns ok, or why an algorithm of this collective can't have this name.
Status check_name(Collective collective, std::string_view name) {
  if (!find(collective, name)) return {};
  return {Code::InvalidArgument,
          fmt::format("the name '{1}' of this {0} algorithm is taken", to_string(collective), name)};
}

Status no_room(std::string_view what) {
  return {Code::InvalidArgument, fmt::format("too many {} are registered", what)};
}

/// Returns the names of all algorithms for the collective, also those that they have with a method.
std::vector<std::string_view> names_for(Collective collective) {
  std::vector<std::string_view> names;
  for (const auto list : {all_algorithms(), registered_algorithms()}) {
    for (const Algorithm* one : list) {
      if (one->collective == collective) names.push_back(one->name);
    }
  }
  for (const Method* method : all_methods()) {
    for (const MethodAlgorithm& one : method->algorithms) {
      if (one.algorithm->collective == collective) names.push_back(one.name);
    }
  }
  return names;
}

Status does_not_serve(const Method& method, const Call& call, const Algorithm& algorithm) {
  std::string serving;
  for (const MethodAlgorithm& one : method.algorithms) {
    if (one.algorithm->collective != call.collective) continue;
    serving += fmt::format("{}{}", serving.empty() ? "" : ", ", one.algorithm->name);
  }
  return {Code::InvalidArgument,
          fmt::format("{} {} does not serve the method {}; {}", to_string(call.collective), algorithm.name, method.name,
                      serving.empty() ? "no algorithm of that collective does" : "there are: " + serving)};
}

/// Returns the method that the algorithm belongs to and means nothing without. Algorithms of manifest.def and of
/// programs stand alone: null.
const Method* owner_of(const Algorithm& algorithm) {
  for (const auto alone : {all_algorithms(), registered_algorithms()}) {
    if (std::find(alone.begin(), alone.end(), &algorithm) != alone.end()) return nullptr;
  }
  const auto methods = all_methods();
  const auto owner =
      std::find_if(methods.begin(), methods.end(), [&](const Method* one) { return one->find(algorithm); });
  return owner == methods.end() ? nullptr : *owner;
}

Status takes_no_entries(const Call& call, const Algorithm& algorithm) {
  std::string names;
  for (const Method* method : all_methods()) {
    if (method->entry_length) names += fmt::format("{}{}", names.empty() ? "" : ", ", method->name);
  }
  return {Code::InvalidArgument, fmt::format("{} {}: a buffer of entries needs a method that takes them: {}",
                                             to_string(call.collective), algorithm.name, names)};
}

Status takes_real_numbers_only(const Method& method, Dtype dtype) {
  std::string names;
  for (Dtype real : real_dtypes) names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(real));
  return {Code::InvalidArgument, fmt::format("{} of {}: methods take only {}", method.name, to_string(dtype), names)};
}

/// Returns the algorithm, unless the call is refused.
Result<const Algorithm*> accept(const Algorithm& algorithm, const Call& call, const Hosts& hosts) {
  if (const Method* method = method_of(call, algorithm)) {
    if (!is_real(call.dtype)) return takes_real_numbers_only(*method, call.dtype);
    if (Status valid = method->check ? method->check(call, algorithm, hosts) : Status(); !valid) return valid;
    if (Status valid = call.options.method.status(); !valid) return valid;
  } else if (asks_for_method(call)) {
    return does_not_serve(*call.options.method.method(), call, algorithm);
  } else if (const Method* owner = owner_of(algorithm)) {
    return Status(Code::InvalidArgument, fmt::format("{} {} serves the method {} only, which the call does not ask for",
                                                     to_string(algorithm.collective), algorithm.name, owner->name));
  }
  const Method* method = method_of(call, algorithm);
  if (has_entries(call) && !(method && method->entry_length)) return takes_no_entries(call, algorithm);
  if (Status fits = serves(algorithm, call, hosts); !fits) return fits;
  return &algorithm;
}

}  // namespace

std::span<const Algorithm* const> all_algorithms() { return own_algorithms; }
std::span<const Algorithm* const> registered_algorithms() { return registered().all(); }
std::span<const Method* const> all_methods() { return methods().all(); }

std::string_view name_of(const Call& call, const Algorithm& algorithm) {
  const Method* method = asks_for_method(call) ? call.options.method.method() : nullptr;
  const MethodAlgorithm* serving = method ? method->find(algorithm) : nullptr;
  return serving ? serving->name : algorithm.name;
}

Status register_algorithm(const Algorithm& algorithm) {
  if (algorithm.name.empty() || !algorithm.build) {
    return {Code::InvalidArgument, fmt::format("the {} algorithm '{}' has {}; it needs a name and a build function",
                                               to_string(algorithm.collective), algorithm.name,
                                               algorithm.name.empty() ? "no name" : "no build function")};
  }
  const std::lock_guard lock(registering);
  if (Status is_new = check_name(algorithm.collective, algorithm.name); !is_new) return is_new;
  if (Status fits = verified_graphs().begin(algorithm); !fits) return fits;
  return registered().add(algorithm) ? Status() : no_room("algorithms");
}

Status register_method(const Method& method) {
  constexpr Rank checked_at_once = 8;
  if (Status fits = check_method(method, checked_at_once); !fits) return fits;
  const std::lock_guard lock(registering);
  for (const Method* other : all_methods()) {
    if (other->name == method.name) {
      return {Code::InvalidArgument, fmt::format("the name '{}' of this method is taken", method.name)};
    }
  }
  for (const MethodAlgorithm& one : method.algorithms) {
    if (Status is_new = check_name(one.algorithm->collective, one.name); !is_new) return is_new;
  }
  return methods().add(method) ? Status() : no_room("methods");
}

Result<const Algorithm*> select_algorithm(const Call& call, const Hosts& hosts, std::string_view instead) {
  const std::string_view wanted = wanted_name(call, hosts, instead);
  if (const Algorithm* algorithm = find(call, hosts, wanted)) {
    const auto accepted = accept(*algorithm, call, hosts);
    if (!accepted || !is_registered(*algorithm)) return accepted;
    const Status fits = verified_graphs().verify(*algorithm, hosts);
    return fits ? accepted : Result<const Algorithm*>(fits);
  }
  const std::vector<std::string_view> known = names_for(call.collective);
  return Status(Code::InvalidArgument,
                fmt::format("no {} algorithm is called '{}'{}; there are: {}", to_string(call.collective), wanted,
                            did_you_mean(wanted, known), fmt::join(known, ", ")));
}

}  // namespace lacuna
