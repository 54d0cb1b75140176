#include "algorithms/registry/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "algorithms/registry/preferences.hpp"
#include "algorithms/registry/registered_algorithms.hpp"
#include "runtime/values/nearest.hpp"

namespace lacuna {

#define LACUNA_ALGORITHM(name) extern const Algorithm name;
#include "algorithms/manifest.def"
#undef LACUNA_ALGORITHM
#define LACUNA_METHOD(name) extern const Method name;
#include "algorithms/methods.def"
#undef LACUNA_METHOD

namespace {

constexpr std::array algorithms = {
#define LACUNA_ALGORITHM(name) &name,
#include "algorithms/manifest.def"
#undef LACUNA_ALGORITHM
};

#define LACUNA_METHOD(name) &name,
constexpr std::array methods = {
#include "algorithms/methods.def"
};
#undef LACUNA_METHOD

/// Returns the name of the algorithm to take, or nothing for the collective's first one.
std::string_view name_of(const Call& call, const Hosts& hosts, std::string_view instead) {
  if (!call.options.algorithm.empty()) return call.options.algorithm;
  const Method* method = asks_for_method(call) ? call.options.method.method() : nullptr;
  if (!instead.empty() && (!method || method->find(call.collective, instead))) return instead;
  if (method) {
    const std::string_view preferred = method->preferred ? method->preferred(call, hosts) : std::string_view();
    return method->find(call.collective, preferred) ? preferred : std::string_view();
  }
  const Preference* row = preference(call, hosts);
  return row ? row->algorithm : std::string_view();
}

RegisteredAlgorithms& registered() {
  static RegisteredAlgorithms all;
  return all;
}

/// Finds one of lacuna's own algorithms, also by the name that it has when it serves a method.
const Algorithm* find_ours(Collective collective, std::string_view name) {
  for (const Algorithm* one : algorithms) {
    if (one->collective == collective && (name.empty() || one->name == name)) return one;
  }
  for (const Method* method : methods) {
    if (const MethodAlgorithm* one = method->find(collective, name)) return one->algorithm;
  }
  return nullptr;
}

/// Returns the names of all algorithms of lacuna for the collective, also those that they have with a method.
std::vector<std::string_view> names_for(Collective collective) {
  std::vector<std::string_view> names;
  for (const Algorithm* one : algorithms) {
    if (one->collective == collective) names.push_back(one->name);
  }
  for (const Method* method : methods) {
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
  if (std::find(algorithms.begin(), algorithms.end(), &algorithm) != algorithms.end()) return nullptr;
  const auto owner =
      std::find_if(methods.begin(), methods.end(), [&](const Method* one) { return one->find(algorithm); });
  return owner == methods.end() ? nullptr : *owner;
}

Status takes_no_entries(const Call& call, const Algorithm& algorithm) {
  std::string names;
  for (const Method* method : methods) {
    if (method->entry_length) names += fmt::format("{}{}", names.empty() ? "" : ", ", method->name);
  }
  return {Code::InvalidArgument, fmt::format("{} {}: a buffer of entries needs a method that takes them: {}",
                                             to_string(call.collective), algorithm.name, names)};
}

/// Returns the algorithm, unless the call is refused.
Result<const Algorithm*> accept(const Algorithm& algorithm, const Call& call, const Hosts& hosts) {
  if (const Method* method = method_of(call, algorithm)) {
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
  if (Status fits = algorithm.supports ? algorithm.supports(call, hosts) : Status(); !fits) return fits;
  return &algorithm;
}

}  // namespace

std::span<const Algorithm* const> all_algorithms() { return algorithms; }
std::span<const Method* const> all_methods() { return methods; }

std::string_view name_of(const Call& call, const Algorithm& algorithm) {
  const Method* method = asks_for_method(call) ? call.options.method.method() : nullptr;
  const MethodAlgorithm* serving = method ? method->find(algorithm) : nullptr;
  return serving ? serving->name : algorithm.name;
}

Result<MethodOptions> method_options(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto found = std::find_if(methods.begin(), methods.end(), [&](const Method* one) { return one->name == name; });
  if (found == methods.end()) {
    std::vector<std::string_view> names;
    for (const Method* one : methods) names.push_back(one->name);
    return Status(Code::InvalidArgument, fmt::format("no method is called '{}'{}; there are: {}", name,
                                                     did_you_mean(name, names), fmt::join(names, ", ")));
  }
  const Method& method = **found;
  std::shared_ptr<void> options = method.make(nullptr);
  std::vector<std::string_view> given;
  for (std::string_view left = text.substr(std::min(text.size(), name.size() + 1)); !left.empty();) {
    const std::string_view one = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) {
      return Status(Code::InvalidArgument, fmt::format("{}: '{}' is no option=value", method.name, one));
    }
    const std::string_view option = one.substr(0, equals);
    if (std::find(given.begin(), given.end(), option) != given.end()) {
      return Status(Code::InvalidArgument, fmt::format("{}: {} is given twice", method.name, option));
    }
    given.push_back(option);
    if (Status set = set_option(method.name, method.options, options.get(), option, one.substr(equals + 1)); !set) {
      return set;
    }
  }
  return MethodOptions(method, std::move(options));
}

Status register_algorithm(const Algorithm& algorithm) {
  if (!algorithm.name.empty() && find_ours(algorithm.collective, algorithm.name)) {
    return {Code::InvalidArgument, fmt::format("the name '{1}' of this {0} algorithm is taken",
                                               to_string(algorithm.collective), algorithm.name)};
  }
  return registered().add(algorithm);
}

Result<const Algorithm*> select_algorithm(const Call& call, const Hosts& hosts, std::string_view instead) {
  const std::string_view wanted = name_of(call, hosts, instead);
  if (const Algorithm* algorithm = find_ours(call.collective, wanted)) return accept(*algorithm, call, hosts);
  if (const Algorithm* algorithm = registered().find(call.collective, wanted)) {
    const auto accepted = accept(*algorithm, call, hosts);
    const Status fits = accepted ? registered().verified(*algorithm, hosts) : Status();
    return fits ? accepted : Result<const Algorithm*>(fits);
  }
  const std::vector<std::string_view> known = names_for(call.collective);
  return Status(Code::InvalidArgument,
                fmt::format("no {} algorithm is called '{}'{}; there are: {}", to_string(call.collective), wanted,
                            did_you_mean(wanted, known), fmt::join(known, ", ")));
}

}  // namespace lacuna
