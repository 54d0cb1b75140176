#include "tests/conformance/covering.hpp"

#include <algorithm>
#include <map>

#include "algorithms/registry/registry.hpp"
#include "tests/conformance/example.hpp"
#include "tests/conformance/fault.hpp"
#include "tests/support/covering_rows.hpp"

namespace lacuna::conformance {
namespace {

/// The values of an option that are tried. Its default is the first one.
std::vector<OptionValue> tried_values(const Method& method, const Option& option) {
  std::vector<OptionValue> all = {option.get(method.make(nullptr).get())};
  const auto add = [&](const OptionValue& value) {
    if (check_value(option, value) && std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
  };
  for (const double limit : {option.least, option.most}) {
    if (option.kind == Option::Kind::Integer) add(static_cast<std::int64_t>(limit));
    if (option.kind == Option::Kind::Number) add(limit);
    if (option.kind == Option::Kind::Flag) add(limit != 0);
  }
  for (const std::string_view choice : option.choices) add(std::string(choice));
  if (option.kind == Option::Kind::Pairs) add(OptionPairs{{1, 1}});
  for (const std::string_view text : method.examples) {
    const auto example = method_options(fmt::format("{}:{}", method.name, text));
    demand(example.is_ok(), "{}", example.status().to_string());
    add(option.get(example->get()));
  }
  return all;
}

class Covering {
 public:
  Covering(const Method& method, const MethodAlgorithm& by) : method_(method), by_(by) {
    for (const Option& option : method.options) tried_.push_back(tried_values(method, option));
  }

  std::vector<CoveringOptions> make() const {
    std::vector<std::size_t> sizes;
    for (const auto& values : tried_) sizes.push_back(values.size());
    std::vector<CoveringOptions> all;
    for (test::FactorValues& row : test::covering_rows(sizes, [&](const auto& row) { return accepts(row); })) {
      all.push_back({options_of(row), std::move(row)});
    }
    return all;
  }

 private:
  MethodOptions options_of(const test::FactorValues& row) const {
    const std::shared_ptr<void> made = method_.make(nullptr);
    for (std::size_t i = 0; i < row.size(); ++i) method_.options[i].set(made.get(), tried_[i][row[i]]);
    return {method_, made};
  }

  bool accepts(const test::FactorValues& row) const {
    const Hosts hosts = by_.algorithm->by_hosts ? Hosts(std::vector<Rank>{0, 0, 1, 1}) : Hosts(4);
    const MethodOptions options = options_of(row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto& counts = method_.options[i].counts;
      if (row[i] != 0 && counts && !counts(options.get())) return false;
    }
    return Example{&method_, options, by_.algorithm, hosts, 100, {}}.is_accepted();
  }

  const Method& method_;
  const MethodAlgorithm& by_;
  std::vector<std::vector<OptionValue>> tried_;  // by option
};

}  // namespace

const std::vector<CoveringOptions>& covering_options(const Method& method, const MethodAlgorithm& by) {
  static std::map<const MethodAlgorithm*, std::vector<CoveringOptions>> made;
  const auto [there, is_new] = made.try_emplace(&by);
  if (is_new) there->second = Covering(method, by).make();
  return there->second;
}

}  // namespace lacuna::conformance
