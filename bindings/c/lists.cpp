// What the library has, read from the tables of the core.
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "algorithms/registry/registry.hpp"
#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Status;

const char* lacuna::c::lasting(std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> texts;
  const std::lock_guard lock(mutex);
  auto found = texts.find(text);
  if (found == texts.end()) found = texts.emplace(text).first;
  return found->c_str();
}

namespace {

/// Gives the length of a list, and one row of it, which `fill` makes.
template <class Row, class Fill>
Status give_row(std::size_t index, std::size_t length, Row* row, std::size_t* count, const Fill& fill) {
  Row value{};
  if (row) {
    if (Status valid = read(row, value); !valid) return valid;
    if (index >= length) {
      return {Code::InvalidArgument,
              "index is " + std::to_string(index) + ", must be less than " + std::to_string(length)};
    }
    const std::size_t size = row->struct_size;
    value = fill(index);
    value.struct_size = size;
    std::memcpy(row, &value, size);
  }
  if (count) *count = length;
  return {};
}

/// Finds the method of this name. The name must have no options.
lacuna::Result<lacuna::MethodOptions> find_method(const char* name) {
  if (!name) return null_argument("method");
  if (std::string_view(name).find(':') != std::string_view::npos) {
    return Status(Code::InvalidArgument, "method is '" + std::string(name) + "', must be a name without options");
  }
  return lacuna::method_options(name);
}

int32_t flag(bool holds) { return holds ? 1 : 0; }

lacuna_dtype_row row_of(lacuna::Dtype dtype) {
  lacuna_dtype_row row = LACUNA_DTYPE_ROW_INIT;
  row.name = lasting(to_string(dtype));
  row.dtype = static_cast<int32_t>(dtype);
  row.size = lacuna::size_of(dtype);
  return row;
}

lacuna_collective_row row_of(const lacuna::CollectiveTraits& traits) {
  lacuna_collective_row row = LACUNA_COLLECTIVE_ROW_INIT;
  row.name = lasting(traits.name);
  row.collective = static_cast<int32_t>(traits.collective);
  row.input = static_cast<int32_t>(traits.input);
  row.output = static_cast<int32_t>(traits.output);
  row.input_at_root = flag(traits.reads == lacuna::Having::Root);
  row.output_at_root = flag(traits.writes == lacuna::Having::Root);
  row.reduces = flag(traits.reduces);
  row.averages = flag(traits.averages);
  row.lengths = static_cast<int32_t>(traits.lengths);
  return row;
}

lacuna_algorithm_row row_of(const lacuna::Algorithm& algorithm) {
  lacuna_algorithm_row row = LACUNA_ALGORITHM_ROW_INIT;
  row.name = lasting(algorithm.name);
  row.collective = static_cast<int32_t>(algorithm.collective);
  row.summary = lasting(algorithm.summary);
  return row;
}

lacuna_algorithm_row row_of(const lacuna::Method& method, const lacuna::MethodAlgorithm& served) {
  lacuna_algorithm_row row = row_of(*served.algorithm);
  row.name = lasting(served.name);
  row.method = lasting(method.name);
  row.summary = lasting(served.summary);
  return row;
}

/// Row `index` of all algorithms: the dense ones first, then those of each method.
lacuna_algorithm_row algorithm_row(std::size_t index) {
  const auto dense = lacuna::all_algorithms();
  if (index < dense.size()) return row_of(*dense[index]);
  index -= dense.size();
  for (const lacuna::Method* method : lacuna::all_methods()) {
    if (index < method->algorithms.size()) return row_of(*method, method->algorithms[index]);
    index -= method->algorithms.size();
  }
  return LACUNA_ALGORITHM_ROW_INIT;
}

std::size_t algorithm_rows() {
  std::size_t all = lacuna::all_algorithms().size();
  for (const lacuna::Method* method : lacuna::all_methods()) all += method->algorithms.size();
  return all;
}

lacuna_option_row row_of(const lacuna::Option& option, const void* defaults) {
  std::string choices;
  for (std::string_view choice : option.choices) choices += (choices.empty() ? "" : ",") + std::string(choice);
  lacuna_option_row row = LACUNA_OPTION_ROW_INIT;
  row.name = lasting(option.name);
  row.type = static_cast<int32_t>(option.kind);
  row.initial = lasting(lacuna::value_text(option.get(defaults)));
  row.least = option.least;
  row.most = option.most;
  row.choices = lasting(choices);
  row.allowed = lasting(allowed_text(option));
  row.help = lasting(option.help);
  return row;
}

lacuna_measure_row row_of(const lacuna::Measure& measure) {
  lacuna_measure_row row = LACUNA_MEASURE_ROW_INIT;
  row.name = lasting(measure.name);
  row.unit = lasting(to_string(measure.unit));
  row.adds_up = static_cast<int32_t>(measure.adds_up);
  row.equal_on_ranks = flag(measure.by == lacuna::CountedBy::Plan);
  row.help = lasting(measure.help);
  return row;
}

}  // namespace

lacuna_status lacuna_list_dtypes(size_t index, lacuna_dtype_row* row, size_t* count) {
  return guarded([&] {
    return give_row(index, lacuna::all_dtypes.size(), row, count,
                    [](std::size_t i) { return row_of(lacuna::all_dtypes[i]); });
  });
}

lacuna_status lacuna_list_collectives(size_t index, lacuna_collective_row* row, size_t* count) {
  return guarded([&] {
    return give_row(index, lacuna::collective_traits.size(), row, count,
                    [](std::size_t i) { return row_of(lacuna::collective_traits[i]); });
  });
}

lacuna_status lacuna_list_algorithms(size_t index, lacuna_algorithm_row* row, size_t* count) {
  return guarded([&] { return give_row(index, algorithm_rows(), row, count, algorithm_row); });
}

lacuna_status lacuna_list_methods(size_t index, lacuna_method_row* row, size_t* count) {
  return guarded([&] {
    const auto methods = lacuna::all_methods();
    return give_row(index, methods.size(), row, count, [&](std::size_t i) {
      lacuna_method_row value = LACUNA_METHOD_ROW_INIT;
      value.name = lasting(methods[i]->name);
      value.summary = lasting(methods[i]->summary);
      value.takes_entries = flag(methods[i]->entry_length != nullptr);
      return value;
    });
  });
}

lacuna_status lacuna_list_options(const char* method, size_t index, lacuna_option_row* row, size_t* count) {
  return guarded([&]() -> Status {
    const auto found = find_method(method);
    if (!found) return found.status();
    const auto options = found->method()->options;
    return give_row(index, options.size(), row, count, [&](std::size_t i) { return row_of(options[i], found->get()); });
  });
}

lacuna_status lacuna_list_measures(const char* method, size_t index, lacuna_measure_row* row, size_t* count) {
  return guarded([&]() -> Status {
    const auto found = find_method(method);
    if (!found) return found.status();
    const auto measures = found->method()->measures;
    return give_row(index, measures.size(), row, count, [&](std::size_t i) { return row_of(*measures[i]); });
  });
}
