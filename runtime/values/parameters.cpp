#include "runtime/values/parameters.hpp"

#include <fmt/format.h>

#include <vector>

#include "runtime/values/nearest.hpp"

namespace lacuna {

void Parameters::add_to(Digest& digest) const {
  if (!set_) return;
  set_->each([&](const Parameter& one) { digest.add(one.word(bytes_.data())); });
}

std::string Parameters::text() const {
  std::string text;
  if (!set_) return text;
  set_->each([&](const Parameter& one) {
    const OptionValue value = one.option.get(bytes_.data());
    if (value == one.option.get(set_->defaults)) return;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", one.option.name, value_text(value));
  });
  return text;
}

Status Parameters::set(const ParameterSet& set, std::string_view name, std::string_view text) {
  const Option* option = nullptr;
  std::vector<std::string_view> names;
  set.each([&](const Parameter& one) {
    names.push_back(one.option.name);
    if (one.option.name == name) option = &one.option;
  });
  if (!option) {
    return {Code::InvalidArgument, fmt::format("the program has no parameter '{}'{}; it has {}", name,
                                               did_you_mean(name, names), fmt::join(names, ", "))};
  }
  const auto value = parse_value(*option, text);
  if (!value) return value.status();
  Parameters changed = *this;
  if (!set_) std::memcpy(changed.bytes_.data(), set.defaults, set.size);
  if (Status valid = set_value(*option, changed.bytes_.data(), *value); !valid) return valid;
  changed.set_ = set.equal(changed.bytes_.data(), set.defaults) ? nullptr : &set;
  *this = changed;
  return {};
}

}  // namespace lacuna
