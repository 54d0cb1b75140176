// What the library has: its lists, row by row, as dictionaries.
#include "bindings/python/module/lists.hpp"

#include <nanobind/stl/string.h>

#include <string>

namespace lacuna::python {
namespace {

/// Reads all rows of a list. `get` gives one row, or the length alone.
template <class Row, class Get, class Convert>
nb::list rows_of(Row initial, Get get, Convert convert) {
  std::size_t count = 0;
  check(get(std::size_t{0}, static_cast<Row*>(nullptr), &count));
  nb::list rows;
  for (std::size_t i = 0; i < count; ++i) {
    Row row = initial;
    check(get(i, &row, static_cast<std::size_t*>(nullptr)));
    nb::dict converted;
    convert(row, converted);
    rows.append(converted);
  }
  return rows;
}

nb::list dtypes() {
  constexpr lacuna_dtype_row initial = LACUNA_DTYPE_ROW_INIT;
  return rows_of(initial, lacuna_list_dtypes, [](const lacuna_dtype_row& row, nb::dict& to) {
    to["name"] = row.name;
    to["size"] = row.size;
  });
}

nb::list collectives() {
  constexpr lacuna_collective_row initial = LACUNA_COLLECTIVE_ROW_INIT;
  return rows_of(initial, lacuna_list_collectives, [](const lacuna_collective_row& row, nb::dict& to) {
    to["name"] = row.name;
    to["collective"] = row.collective;
    to["input"] = row.input;
    to["output"] = row.output;
    to["input_at_root"] = row.input_at_root != 0;
    to["output_at_root"] = row.output_at_root != 0;
    to["reduces"] = row.reduces != 0;
    to["averages"] = row.averages != 0;
    to["lengths"] = row.lengths;
  });
}

nb::list algorithms() {
  constexpr lacuna_algorithm_row initial = LACUNA_ALGORITHM_ROW_INIT;
  return rows_of(initial, lacuna_list_algorithms, [](const lacuna_algorithm_row& row, nb::dict& to) {
    to["name"] = row.name;
    to["collective"] = row.collective;
    to["method"] = row.method ? nb::cast(row.method) : nb::none();
    to["summary"] = row.summary;
  });
}

nb::list methods() {
  constexpr lacuna_method_row initial = LACUNA_METHOD_ROW_INIT;
  return rows_of(initial, lacuna_list_methods, [](const lacuna_method_row& row, nb::dict& to) {
    to["name"] = row.name;
    to["summary"] = row.summary;
    to["takes_entries"] = row.takes_entries != 0;
  });
}

nb::list options(const std::string& method) {
  static constexpr const char* types[] = {"flag", "integer", "number", "choice", "pairs"};
  constexpr lacuna_option_row initial = LACUNA_OPTION_ROW_INIT;
  const auto get = [&](std::size_t index, lacuna_option_row* row, std::size_t* count) {
    return lacuna_list_options(method.c_str(), index, row, count);
  };
  return rows_of(initial, get, [](const lacuna_option_row& row, nb::dict& to) {
    to["name"] = row.name;
    to["type"] = types[row.type];
    to["initial"] = row.initial;
    to["least"] = row.least;
    to["most"] = row.most;
    to["choices"] = row.choices;
    to["allowed"] = row.allowed;
    to["help"] = row.help;
  });
}

nb::list measures(const std::string& method) {
  static constexpr const char* ways[] = {"sum", "largest", "last", "mean"};
  constexpr lacuna_measure_row initial = LACUNA_MEASURE_ROW_INIT;
  const auto get = [&](std::size_t index, lacuna_measure_row* row, std::size_t* count) {
    return lacuna_list_measures(method.c_str(), index, row, count);
  };
  return rows_of(initial, get, [](const lacuna_measure_row& row, nb::dict& to) {
    to["name"] = row.name;
    to["unit"] = row.unit;
    to["adds_up"] = ways[row.adds_up];
    to["equal_on_ranks"] = row.equal_on_ranks != 0;
    to["help"] = row.help;
  });
}

}  // namespace

void bind_lists(nb::module_& module) {
  module.def("version", &lacuna_version);
  module.def(
      "status_text", [](int status) { return lacuna_status_text(static_cast<lacuna_status>(status)); },
      nb::arg("status"));
  module.def("list_dtypes", &dtypes, nb::sig("def list_dtypes() -> list[dict[str, Any]]"));
  module.def("list_collectives", &collectives, nb::sig("def list_collectives() -> list[dict[str, Any]]"));
  module.def("list_algorithms", &algorithms, nb::sig("def list_algorithms() -> list[dict[str, Any]]"));
  module.def("list_methods", &methods, nb::sig("def list_methods() -> list[dict[str, Any]]"));
  module.def("list_options", &options, nb::arg("method"),
             nb::sig("def list_options(method: str) -> list[dict[str, Any]]"));
  module.def("list_measures", &measures, nb::arg("method"),
             nb::sig("def list_measures(method: str) -> list[dict[str, Any]]"));
}

}  // namespace lacuna::python
