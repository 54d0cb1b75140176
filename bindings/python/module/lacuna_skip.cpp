// The typed interface of the method skip: segments of a tensor, and their importance.
#include "bindings/c/lacuna_skip.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "bindings/python/module/method.hpp"

namespace lacuna::python {
namespace {

using Segments = std::vector<std::tuple<std::size_t, std::size_t, std::string>>;

constexpr const char* policies[] = {"skip", "never", "automatic"};

/// Makes the method. `text` is that of the method without its segments. `maker` makes it again of both.
nb::object make(nb::object maker, const std::string& text, const Segments& given) {
  std::vector<lacuna_skip_segment> segments;
  for (const auto& [offset, count, policy] : given) {
    segments.push_back({offset, count, number_of(nb::cast(policy), "policy", policies, std::size(policies))});
  }
  const std::size_t colon = text.find(':');
  lacuna_method* made = nullptr;
  check(
      lacuna_skip_create(colon == text.npos ? "" : text.c_str() + colon + 1, segments.data(), segments.size(), &made));
  nb::object remake = nb::make_tuple(maker, nb::make_tuple(text, given));
  return nb::cast(new Method(text, made, remake), nb::rv_policy::take_ownership);
}

nb::list importance(const State& state) {
  std::size_t count = 0;
  check(lacuna_skip_get_importance(state.c, 0, nullptr, &count));
  nb::list all;
  for (std::size_t i = 0; i < count; ++i) {
    lacuna_segment_importance one = LACUNA_SEGMENT_IMPORTANCE_INIT;
    check(lacuna_skip_get_importance(state.c, i, &one, nullptr));
    nb::object share = one.measured ? nb::cast(one.share) : nb::none();
    all.append(nb::make_tuple(one.segment, one.count, share, one.important != 0));
  }
  return all;
}

}  // namespace

void bind_typed_methods(nb::module_& module) {
  module.def("make_skip", &make, nb::arg("maker"), nb::arg("text"), nb::arg("segments"),
             nb::sig("def make_skip(maker: Callable[..., Method], text: str, "
                     "segments: Sequence[tuple[int, int, str]]) -> Method"));
  module.def("skip_importance", &importance, nb::arg("state"),
             nb::sig("def skip_importance(state: State) -> list[tuple[int, int, float | None, bool]]"));
}

}  // namespace lacuna::python
