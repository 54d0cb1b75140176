// Methods with options, what they remember, and what they have done.
#include <algorithm>
#include <string>

#include "algorithms/registry/registry.hpp"
#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Status;

namespace {

Status no_measure(const lacuna::Method& method, const char* name) {
  std::string known;
  for (const lacuna::Measure* one : method.measures) known += (known.empty() ? "" : ", ") + std::string(one->name);
  return {Code::InvalidArgument, "reports of " + std::string(method.name) + " have no measure '" + name +
                                     "'; there are: " + (known.empty() ? "none" : known)};
}

}  // namespace

lacuna_status lacuna_method_create(const char* name, const char* options, lacuna_method** method) {
  return guarded([&]() -> Status {
    if (!name || !method) return null_argument(name ? "method" : "name");
    std::string text = name;
    if (options && *options) text += std::string(":") + options;
    auto made = lacuna::method_options(text);
    if (!made) return made.status();
    *method = new lacuna_method{*std::move(made)};
    return {};
  });
}

lacuna_status lacuna_entry_length(const lacuna_method* method, size_t* elements) {
  return guarded([&]() -> Status {
    if (!method || !elements) return null_argument(method ? "elements" : "method");
    *elements = lacuna::entry_length(method->options);
    return {};
  });
}

void lacuna_method_free(lacuna_method* method) { delete method; }

lacuna_status lacuna_state_create(const lacuna_method* method, uint64_t seed, uint64_t key, lacuna_state** state) {
  return guarded([&]() -> Status {
    if (!state) return null_argument("state");
    *state = new lacuna_state{{.sampler = {.seed = seed, .key = key}}, method ? method->options.method() : nullptr};
    return {};
  });
}

void lacuna_state_free(lacuna_state* state) { delete state; }

lacuna_status lacuna_state_set_model(lacuna_state* state, lacuna_state* const* states, size_t count) {
  return guarded([&]() -> Status {
    if (!state || (!states && count > 0)) return null_argument(state ? "states" : "state");
    const std::span given(states, count);
    if (count > 0 && std::find(given.begin(), given.end(), state) == given.end()) {
      return {Code::InvalidArgument, "states: the state itself must be one of them"};
    }
    if (std::find(given.begin(), given.end(), nullptr) != given.end()) return null_argument("one of states");
    if (state->state.in_use) return {Code::Busy, "a call that is still running changes this state"};
    std::vector<lacuna::MethodState*> model;
    for (lacuna_state* one : given) model.push_back(&one->state);
    state->model = std::move(model);
    state->state.model = state->model;
    return {};
  });
}

lacuna_status lacuna_get_state(const lacuna_state* state, lacuna_state_values* values) {
  return guarded([&]() -> Status {
    if (!state || !values) return null_argument(state ? "values" : "state");
    lacuna_state_values value = LACUNA_STATE_VALUES_INIT;
    if (Status valid = read(values, value); !valid) return valid;
    const lacuna::MethodState& kept = state->state;
    value = {
        values->struct_size, {kept.sampler.seed, kept.sampler.key, kept.sampler.draw}, kept.runs, kept.arrays.size()};
    std::memcpy(values, &value, values->struct_size);
    return {};
  });
}

namespace {

/// Finds an array of a state by its index.
Status find_array(const lacuna_state& state, size_t index, const lacuna::StateArray*& array) {
  const auto& arrays = state.state.arrays;
  if (index >= arrays.size()) {
    return {Code::InvalidArgument, "index is " + std::to_string(index) + ", must be less than the number of arrays, " +
                                       std::to_string(arrays.size())};
  }
  array = &arrays[index];
  return {};
}

}  // namespace

lacuna_status lacuna_get_state_array(const lacuna_state* state, size_t index, lacuna_state_array* array) {
  return guarded([&]() -> Status {
    if (!state || !array) return null_argument(state ? "array" : "state");
    lacuna_state_array value = LACUNA_STATE_ARRAY_INIT;
    if (Status valid = read(array, value); !valid) return valid;
    const lacuna::StateArray* kept = nullptr;
    if (Status found = find_array(*state, index, kept); !found) return found;
    value = {array->struct_size,
             kept->name.c_str(),
             kept->bytes.data(),
             kept->count(),
             static_cast<std::int32_t>(kept->dtype),
             kept->own ? 1 : 0,
             static_cast<std::int32_t>(kept->bytes.kind())};
    std::memcpy(array, &value, array->struct_size);
    return {};
  });
}

lacuna_status lacuna_copy_state_array(const lacuna_state* state, size_t index, void* elements, size_t bytes) {
  return guarded([&]() -> Status {
    if (!state || (!elements && bytes > 0)) return null_argument(state ? "elements" : "state");
    const lacuna::StateArray* kept = nullptr;
    if (Status found = find_array(*state, index, kept); !found) return found;
    if (bytes != kept->bytes.size()) {
      return {Code::InvalidArgument, "bytes is " + std::to_string(bytes) + ", must be " +
                                         std::to_string(kept->bytes.size()) + ", the size of " + kept->name};
    }
    kept->bytes.copy_to(static_cast<std::byte*>(elements));
    return {};
  });
}

lacuna_status lacuna_state_save(const lacuna_state* state, void* bytes, size_t capacity, size_t* length) {
  return guarded([&]() -> Status {
    if (!state || !length) return null_argument(state ? "length" : "state");
    if (!bytes && capacity > 0) return null_argument("bytes");
    const auto saved = state->state.save();
    if (!saved) return saved.status();
    *length = saved->size();
    if (capacity < saved->size()) return too_small(capacity, saved->size());
    std::copy(saved->begin(), saved->end(), static_cast<std::byte*>(bytes));
    return {};
  });
}

lacuna_status lacuna_state_restore(lacuna_state* state, const void* bytes, size_t length) {
  return guarded([&]() -> Status {
    if (!state || !bytes) return null_argument(state ? "bytes" : "state");
    return state->state.restore({static_cast<const std::byte*>(bytes), length});
  });
}

lacuna_status lacuna_get_report(const lacuna_request* request, lacuna_report* report) {
  return guarded([&]() -> Status {
    if (!request || !report) return null_argument(request ? "report" : "request");
    if (Status may = request->home.check(); !may) return may;
    lacuna_report value = LACUNA_REPORT_INIT;
    if (Status valid = read(report, value); !valid) return valid;
    const lacuna::Report all = call_of(*request).report();
    value = {report->struct_size, all.rounds,        all.dense_rounds,        all.sent,   all.dense_sent, all.received,
             all.dense_received,  all.contributions, all.dense_contributions, all.lacking};
    std::memcpy(report, &value, report->struct_size);
    return {};
  });
}

lacuna_status lacuna_get_report_measure(const lacuna_request* request, const char* name, double* value) {
  return guarded([&]() -> Status {
    if (!request || !name || !value) return null_argument(!request ? "request" : name ? "value" : "name");
    if (Status may = request->home.check(); !may) return may;
    const lacuna::Report all = call_of(*request).report();
    if (all.method && !lacuna::find(all.method->measures, name)) return no_measure(*all.method, name);
    *value = all.measures.value(std::string_view(name));
    return {};
  });
}

lacuna_status lacuna_get_algorithm(const lacuna_request* request, const char** name) {
  return guarded([&]() -> Status {
    if (!request || !name) return null_argument(request ? "name" : "request");
    if (Status may = request->home.check(); !may) return may;
    *name = lasting(call_of(*request).algorithm());
    return {};
  });
}

lacuna_status lacuna_gaps(const lacuna_request* request, int32_t rank, lacuna_gap* gaps, size_t capacity,
                          size_t* count) {
  return guarded([&]() -> Status {
    if (!request || !count) return null_argument(request ? "count" : "request");
    if (!gaps && capacity > 0) return null_argument("gaps");
    const auto all = call_of(*request).gaps(rank);
    if (!all) return all.status();
    *count = all->size();
    if (capacity < all->size()) return too_small(capacity, all->size());
    for (std::size_t i = 0; i < all->size(); ++i) gaps[i] = {(*all)[i].offset, (*all)[i].count, (*all)[i].from};
    return {};
  });
}
