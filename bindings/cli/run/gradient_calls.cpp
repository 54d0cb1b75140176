#include "bindings/cli/run/gradient_calls.hpp"

#include <algorithm>

#include "bindings/cli/shared/join.hpp"

namespace lacuna::cli {

Call call_of(const MethodChoice& choice, const GradientShape& gradient, MethodState& state) {
  Call call{.collective = Collective::Allreduce, .count = gradient.count, .reduction = Reduction::Avg};
  if (!gradient.with_method) return call;
  call.options.algorithm = choice.algorithm;
  call.options.method = choice.options;
  call.options.state = &state;
  return call;
}

std::string each_once(const std::vector<std::string>& texts) {
  std::vector<std::string> once;
  for (const std::string& text : texts) {
    if (std::find(once.begin(), once.end(), text) == once.end()) once.push_back(text);
  }
  return joined(once, ", ");
}

}  // namespace lacuna::cli
