#include "bindings/c/interface.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/method/method.hpp"
#include "runtime/values/clock.hpp"

namespace lacuna::c {
namespace {

thread_local std::string last_error_text;

/// Refuses a state that was made for another method.
Status check_state(const lacuna_method& method, const lacuna_state& state) {
  const Method* made_for = state.method;
  const Method* asked = method.options.method();
  if (!made_for || made_for == asked) return {};
  return {Code::InvalidArgument,
          fmt::format("the state was made for the method {}; the call has {}, and needs a state of its own",
                      made_for->name, asked->name)};
}

}  // namespace

lacuna_status done(const Status& status) {
  if (!status) last_error_text = status.message();
  return static_cast<lacuna_status>(status.code());
}

const std::string& last_error() { return last_error_text; }

Status check_range(const char* what, std::int32_t value, std::int32_t most) {
  if (value >= 0 && value <= most) return {};
  return {Code::InvalidArgument,
          std::string(what) + " is " + std::to_string(value) + ", must be 0 .. " + std::to_string(most)};
}

Status null_argument(const char* what) { return {Code::InvalidArgument, std::string(what) + " is null"}; }

Status too_small(std::size_t capacity, std::size_t needed) {
  return {Code::InvalidArgument,
          "capacity is " + std::to_string(capacity) + ", must be at least " + std::to_string(needed)};
}

Status read_seconds(const char* what, double seconds, std::chrono::microseconds& value) {
  using Seconds = std::chrono::duration<double>;
  if (!(seconds >= 0)) {
    return {Code::InvalidArgument, fmt::format("{} is {} seconds, must be 0 or more", what, seconds)};
  }
  value = std::chrono::ceil<std::chrono::microseconds>(std::min(Seconds(seconds), Seconds(runtime::never)));
  return {};
}

Status read_seconds(const char* what, double seconds, std::chrono::milliseconds& value) {
  std::chrono::microseconds exact{0};
  Status valid = read_seconds(what, seconds, exact);
  value = std::chrono::ceil<std::chrono::milliseconds>(exact);
  return valid;
}

Status read_options(const lacuna_options* given, Options& options) {
  lacuna_options value = LACUNA_OPTIONS_INIT;
  if (Status valid = read(given, value); !valid) return valid;
  if (Status valid = check_range("priority", value.priority, LACUNA_LOW); !valid) return valid;
  if (Status valid = read_seconds("deadline", value.deadline, options.deadline); !valid) return valid;
  if (value.method && value.state) {
    if (Status valid = check_state(*value.method, *value.state); !valid) return valid;
  }
  static_assert(sizeof(lacuna_sampler) == sizeof(Sampler));
  if (value.algorithm) options.algorithm = value.algorithm;
  if (value.method) options.method = value.method->options;
  if (value.state) options.state = &value.state->state;
  options.sampler = reinterpret_cast<Sampler*>(value.sampler);
  options.priority = static_cast<Priority>(value.priority);
  if (value.notify) options.notify = value.token;
  return {};
}

Status read_buffer(const lacuna_buffer* given, const char* name, lacuna_buffer& value) {
  if (!given) return null_argument(name);
  if (Status valid = read(given, value); !valid) return valid;
  if (Status valid = check_dtype(value.dtype); !valid) return valid;
  return check_range("memory", value.memory, LACUNA_MEMORY_CUDA_HOST);
}

Memory memory_of(const lacuna_buffer& buffer) {
  return {static_cast<MemoryKind>(buffer.memory), buffer.device, buffer.stream};
}

bool prepares(const lacuna_options* given) {
  lacuna_options value = LACUNA_OPTIONS_INIT;
  return read(given, value) && value.prepare != 0;
}

}  // namespace lacuna::c
