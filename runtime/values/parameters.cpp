#include "runtime/values/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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
  std::vector<Option> options;
  set.each([&](const Parameter& one) { options.push_back(one.option); });
  Parameters changed = *this;
  if (!set_) std::memcpy(changed.bytes_.data(), set.defaults, set.size);
  if (Status valid = set_option("the program", options, changed.bytes_.data(), name, text); !valid) return valid;
  changed.set_ = set.equal(changed.bytes_.data(), set.defaults) ? nullptr : &set;
  *this = changed;
  return {};
}

}  // namespace lacuna
