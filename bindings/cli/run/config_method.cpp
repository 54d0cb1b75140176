#include "bindings/cli/run/config_method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "algorithms/registry/registry.hpp"

namespace lacuna::cli {
namespace {

constexpr const char* no_method = "dense";

OptionValue read_value(ConfigSection& section, const Option& option, const OptionValue& fallback) {
  const Key key{option.name, option.help};
  const auto whole = [](double limit) { return static_cast<std::int64_t>(limit); };
  switch (option.kind) {
    case Option::Kind::Flag:
      return section.flag(key, std::get<bool>(fallback));
    case Option::Kind::Integer:
      return section.integer(key, whole(option.least), whole(option.most), std::get<std::int64_t>(fallback));
    case Option::Kind::Number:
      return section.number(key, option.least, option.most, std::get<double>(fallback));
    case Option::Kind::Choice:
      return section.one_of(key, {option.choices.begin(), option.choices.end()}, std::get<std::string>(fallback));
    case Option::Kind::Pairs:
      break;
  }
  OptionPairs pairs;
  for (const auto& [first, second] : section.pairs(key, whole(option.least), whole(option.most)))
    pairs.emplace_back(first, second);
  return pairs;
}

/// Reports options that are given and change nothing as errors.
void check_used(ConfigSection& section, const Method& method, const void* options) {
  const bool on = method.is_on(options);
  for (const Option& option : method.options) {
    if (!section.has(option.name) || (on && (!option.counts || option.counts(options)))) continue;
    section.error(option.name, fmt::format("'{}' changes nothing as the other options are", option.name));
  }
}

MethodOptions read_options(ConfigSection& section, const Method& method) {
  std::shared_ptr<void> options = method.make(nullptr);
  for (const Option& option : method.options) {
    const OptionValue value = read_value(section, option, option.get(options.get()));
    if (section.has_errors()) continue;
    if (Status set = set_value(option, options.get(), value); !set) section.error(option.name, set.message());
  }
  return {method, std::move(options)};
}

/// May a folder have this name, in every file system?
bool is_file_name(std::string_view name) {
  const auto is_forbidden = [](char letter) { return letter == '/' || static_cast<unsigned char>(letter) < 0x20; };
  return name != "." && name != ".." && name.size() <= 200 && std::none_of(name.begin(), name.end(), is_forbidden);
}

/// Checks that an algorithm serves the method on these ranks.
Status served(const MethodChoice& choice, const Hosts& hosts) {
  MethodState state;
  Call call;
  call.collective = Collective::Allreduce;
  call.count = 1;
  call.reduction = Reduction::Avg;
  call.options.algorithm = choice.algorithm;
  call.options.method = choice.options;
  call.options.state = &state;
  return select_algorithm(call, hosts).status();
}

/// Reads the tensor that the method is for.
std::string read_only(ConfigSection& section, const Workload* workload) {
  const Key key{"only", "the tensor that the method is for, of a workload that names some; all others are dense"};
  const std::vector<std::string> tensors = workload ? workload->tensors() : std::vector<std::string>();
  if (!tensors.empty()) return section.one_of(key, tensors, "");
  const std::string given = section.text(key, "");
  if (!given.empty() && workload) section.error("only", "'only' names a tensor, but the workload names none to choose");
  return given;
}

/// Reads whether gradients are handed over as lists.
bool read_lists(ConfigSection& section, const Workload* workload) {
  const bool lists =
      section.flag({"lists", "hands gradients over as lists of entries, where the workload has such"}, false);
  if (lists && workload && !workload->has_lists()) {
    section.error("lists", "'lists' hands over lists of entries, but the workload has none: it must be false");
  }
  return lists;
}

}  // namespace

std::vector<std::string> method_names() {
  std::vector<std::string> names = {no_method};
  for (const Method* method : all_methods()) names.emplace_back(method->name);
  return names;
}

MethodChoice read_method(ConfigSection& section, const Hosts& hosts, const Workload* workload) {
  MethodChoice choice;
  const std::string name =
      section.one_of({"name", "what the allreduces of gradients give up; dense: nothing"}, method_names(), no_method);
  choice.algorithm = section.text({"algorithm", "the algorithm of these allreduces; \"\": lacuna chooses"}, "");
  if (name != no_method && workload && !workload->has_gradients()) {
    section.error("name", fmt::format("'name' is '{}', but the workload averages no gradients on which a method could "
                                      "act: it must be '{}'",
                                      name, no_method));
  }
  std::optional<std::string> label;
  if (section.has("name")) label = name;
  if (!choice.algorithm.empty()) label = choice.algorithm;
  choice.label =
      section.text({"label", "its name in tables and its folder; by default the algorithm, or else the name"}, label);
  choice.only = read_only(section, workload);
  choice.lists = read_lists(section, workload);
  if (section.has_errors()) return choice;
  if (name != no_method) choice.options = read_options(section, *method_options(name)->method());
  section.finish();

  if (!is_file_name(choice.label)) {
    section.error("label",
                  "'label' names a folder: it must hold no '/' and no control character, have at most 200 "
                  "bytes, and not be '.' or '..'");
  }
  if (!section.has_errors() && choice.options) check_used(section, *choice.options.method(), choice.options.get());
  if (section.has_errors()) return choice;
  if (const Status status = served(choice, hosts); !status) section.error("algorithm", status.message());
  return choice;
}

}  // namespace lacuna::cli
