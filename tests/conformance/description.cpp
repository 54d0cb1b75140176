#include <cmath>
#include <set>

#include "algorithms/registry/registry.hpp"
#include "tests/conformance/calls.hpp"
#include "tests/conformance/covering.hpp"
#include "tests/conformance/fault.hpp"
#include "tests/conformance/properties.hpp"

namespace lacuna::conformance {

void has_examples(const Method& method) {
  std::set<const Algorithm*> served;
  for (const std::string_view text : method.examples) {
    const auto options = method_options(fmt::format("{}:{}", method.name, text));
    demand(options.is_ok(), "{}", options.status().to_string());
    bool is_accepted = false;
    for (const MethodAlgorithm& one : method.algorithms) {
      if (!Example{&method, *options, one.algorithm, 4, 100, {}}.is_accepted()) continue;
      served.insert(one.algorithm);
      is_accepted = true;
    }
    demand(is_accepted, "no algorithm accepts the example {} on 4 ranks", text);
  }
  for (const MethodAlgorithm& one : method.algorithms) {
    const bool needs_hosts = one.algorithm->collective != Collective::Allreduce || one.algorithm->by_hosts;
    demand(needs_hosts || served.contains(one.algorithm), "no example is served by {}", one.name);
    demand(!covering_options(method, one).empty(), "no options are tried for {}", one.name);
  }
}

void means_what_its_texts_say(const Method& method) {
  for (const Example& example : examples_of(method, {4})) {
    const auto again = method_options(example.options.text());
    demand(again && again->digest() == example.options.digest(), "{}: its text means something else", example.text);
  }
}

void describes_measures(const Method& method) {
  std::set<std::string_view> names;
  std::set<MeasureRole> roles;
  for (const Measure* measure : method.measures) {
    demand(names.insert(measure->name).second, "two measures are called '{}'", measure->name);
    demand(!measure->help.empty(), "the measure '{}' has no help", measure->name);
    demand(measure->role == MeasureRole::None || roles.insert(measure->role).second,
           "the measure '{}' has the role of another one", measure->name);
  }
  MethodState state;
  for (const Example& example : examples_of(method, {4})) {
    Plan plan;
    make_plan({example.call(state), *example.algorithm, Hosts(4), 1 << 18}, plan);
    for (const Measure* measure : method.measures) {
      const std::uint64_t due = measure->by == CountedBy::Plan ? 1 : 0, times = plan.measures.times(*measure);
      demand(times == due, "{}: the plan tells '{}' {} times, should be {}", example.text, measure->name, times, due);
    }
  }
}

void refuses_an_option_twice(const Method& method) {
  for (std::string_view example : method.examples) {
    const std::string_view first = example.substr(0, example.find(','));
    const std::string_view name = first.substr(0, first.find('='));
    const Status status = method_options(fmt::format("{}:{},{}", method.name, example, first)).status();
    const std::string due = fmt::format("invalid argument: {}: {} is given twice", method.name, name);
    demand(status.to_string() == due, "the error of {},{} is: {}", example, first, status.to_string());
  }
}

namespace {

/// The ends of an option's range, and numbers beyond them.
struct Ends {
  std::vector<OptionValue> inside, beyond;

  explicit Ends(const Option& option) {
    if (option.kind == Option::Kind::Integer) {
      const auto least = static_cast<std::int64_t>(option.least), most = static_cast<std::int64_t>(option.most);
      inside = {least, most};
      beyond = {least - 1, most + 1};
    } else if (option.kind == Option::Kind::Number) {
      inside = {option.least, option.most};
      beyond = {std::nextafter(option.least, -HUGE_VAL), std::nextafter(option.most, HUGE_VAL)};
    }
  }
};

}  // namespace

void keeps_options_whole(const Method& method) {
  for (const Option& option : method.options) {
    const auto text = [&](const OptionValue& value) {
      return fmt::format("{}:{}={}", method.name, option.name, value_text(value));
    };
    const Ends ends(option);
    for (const OptionValue& value : ends.inside) {
      const auto options = method_options(text(value));
      demand(options.is_ok(), "{}", options.status().to_string());
      const OptionValue held = option.get(options->get());
      demand(held == value, "{} is held as {}", text(value), value_text(held));
    }
    for (const OptionValue& value : ends.beyond) {
      demand(!method_options(text(value)), "{} is beyond its range, and is not refused", text(value));
    }
  }
}

void makes_arrays_for_checkpoints(const Method& method) {
  for (const Example& example : examples_of(method, {4})) {
    const Calls calls(example, test::drawn_options(1));
    MethodState made;
    if (method.state) method.state(example.options.get(), Dtype::F64, calls.count, made);
    for (const StateArray& array : calls.states[0].arrays) {
      const StateArray* there = made.find(array.name);
      demand(there != nullptr, "{}: a checkpoint would lack {}", example.text, array.name);
      demand(there->dtype == array.dtype && there->own == array.own && there->count() == array.count(),
             "{}: Method::state makes another array {} than calls", example.text, array.name);
    }
  }
}

}  // namespace lacuna::conformance
