// What skipping keeps from call to call: states and the importance of segments.
#include <algorithm>

#include "bindings/c/interface.hpp"
#include "runtime/values/digest.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Status;

namespace {

/// Of one kind of saved bytes.
struct Kind {
  std::uint64_t mark;
  const char* name;
};
constexpr Kind state_kind{0x7461747370696b73u, "lacuna_skip_state"};            // "skipstat"
constexpr Kind importance_kind{0x6f706d6970696b73u, "lacuna_skip_importance"};  // "skipimpo"
constexpr std::uint64_t version = 1;

/// What saved bytes begin with.
struct Header {
  std::uint64_t mark;
  std::uint64_t version;
  std::uint64_t length;  ///< of what follows
  std::uint64_t digest;  ///< of that
};

std::uint64_t digest_of(std::span<const std::byte> bytes) {
  return lacuna::Digest().add({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).value();
}

/// Where saved bytes go.
struct Target {
  void* bytes;
  std::size_t capacity;
  std::size_t* length;
};

/// The header, and a body of two parts.
Status hand_over(const Kind& kind, std::span<const std::byte> first, std::span<const std::byte> second,
                 const Target& to) {
  if (!to.length) return null_argument("length");
  if (!to.bytes && to.capacity > 0) return null_argument("bytes");
  *to.length = sizeof(Header) + first.size() + second.size();
  if (to.capacity < *to.length) return too_small(to.capacity, *to.length);
  const std::span body(static_cast<std::byte*>(to.bytes) + sizeof(Header), *to.length - sizeof(Header));
  std::copy(first.begin(), first.end(), body.begin());
  std::copy(second.begin(), second.end(), body.begin() + static_cast<std::ptrdiff_t>(first.size()));
  const Header header{kind.mark, version, body.size(), digest_of(body)};
  std::memcpy(to.bytes, &header, sizeof header);
  return {};
}

/// The body of what the caller gives back.
lacuna::Result<std::span<const std::byte>> take_back(const Kind& kind, const void* bytes, std::size_t length) {
  if (!bytes) return null_argument("bytes");
  const auto refuse = [&](const std::string& why) {
    return Status(Code::InvalidArgument, std::to_string(length) + " bytes: " + why);
  };
  Header header{};
  if (length >= sizeof header) std::memcpy(&header, bytes, sizeof header);
  if (header.mark != kind.mark) return refuse(std::string("this is no saved ") + kind.name);
  if (header.version != version) {
    return refuse(std::string("this ") + kind.name + " was saved as version " + std::to_string(header.version) +
                  "; this library reads " + std::to_string(version));
  }
  const std::span body(static_cast<const std::byte*>(bytes) + sizeof header, length - sizeof header);
  if (header.length != body.size()) {
    return refuse(std::string("this ") + kind.name + " must have " + std::to_string(header.length) + " and the " +
                  std::to_string(sizeof header) + " of its header");
  }
  if (header.digest != digest_of(body)) return refuse(std::string("this ") + kind.name + " is damaged");
  return body;
}

/// The words that the body of a state begins with; the residual follows.
struct StateWords {
  std::uint64_t seed, key, draw, runs;
};

}  // namespace

lacuna_status lacuna_skip_state_create(uint64_t seed, uint64_t key, lacuna_skip_state** state) {
  return guarded([&]() -> Status {
    if (!state) return null_argument("state");
    *state = new lacuna_skip_state{{.sampler = {.seed = seed, .key = key}}};
    return {};
  });
}

void lacuna_skip_state_free(lacuna_skip_state* state) { delete state; }

lacuna_status lacuna_get_skip_state(const lacuna_skip_state* state, lacuna_skip_state_values* values) {
  return guarded([&]() -> Status {
    if (!state || !values) return null_argument(state ? "values" : "state");
    lacuna_skip_state_values value = LACUNA_SKIP_STATE_VALUES_INIT;
    if (Status valid = read(values, value); !valid) return valid;
    const lacuna::SkipState& kept = state->state;
    value = {values->struct_size,
             {kept.sampler.seed, kept.sampler.key, kept.sampler.draw},
             kept.runs,
             nullptr,
             kept.residual.size(),
             kept.audit.run,
             kept.audit.relative_error,
             kept.audit.cosine};
    if (!kept.residual.empty()) value.residual = kept.residual.data();
    std::memcpy(values, &value, values->struct_size);
    return {};
  });
}

lacuna_status lacuna_skip_state_save(const lacuna_skip_state* state, void* bytes, size_t capacity, size_t* length) {
  return guarded([&]() -> Status {
    if (!state) return null_argument("state");
    const lacuna::SkipState& kept = state->state;
    const StateWords words{kept.sampler.seed, kept.sampler.key, kept.sampler.draw, kept.runs};
    return hand_over(state_kind, std::as_bytes(std::span(&words, 1)), kept.residual, {bytes, capacity, length});
  });
}

lacuna_status lacuna_skip_state_restore(lacuna_skip_state* state, const void* bytes, size_t length) {
  return guarded([&]() -> Status {
    if (!state) return null_argument("state");
    const auto body = take_back(state_kind, bytes, length);
    if (!body) return body.status();
    StateWords words{};
    if (body->size() < sizeof words) return {Code::InvalidArgument, "this lacuna_skip_state is damaged"};
    std::memcpy(&words, body->data(), sizeof words);
    const auto residual = body->subspan(sizeof words);
    std::vector<std::byte> copy(residual.begin(), residual.end());
    state->state = {{words.seed, words.key, words.draw}, words.runs, std::move(copy)};
    return {};
  });
}

lacuna_status lacuna_skip_importance_create(const lacuna_skip_importance_options* options,
                                            lacuna_skip_importance** importance) {
  return guarded([&]() -> Status {
    if (!importance) return null_argument("importance");
    lacuna_skip_importance_options value = LACUNA_SKIP_IMPORTANCE_OPTIONS_INIT;
    if (Status valid = read(options, value); !valid) return valid;
    if (value.every < 1 || value.samples < 1) {
      return {Code::InvalidArgument, std::string(value.every < 1 ? "every" : "samples") + " is 0, must be 1 or more"};
    }
    if (!(value.threshold >= 0 && value.threshold <= 1)) {
      return {Code::InvalidArgument, "threshold is " + std::to_string(value.threshold) + ", must be 0 .. 1"};
    }
    const lacuna::SkipImportance::Options made{value.every, value.threshold, value.samples};
    *importance = new lacuna_skip_importance{lacuna::SkipImportance(made)};
    return {};
  });
}

void lacuna_skip_importance_free(lacuna_skip_importance* importance) { delete importance; }

lacuna_status lacuna_skip_importance_segments(const lacuna_skip_importance* importance, size_t* count) {
  return guarded([&]() -> Status {
    if (!importance || !count) return null_argument(importance ? "count" : "importance");
    *count = importance->importance.segments().size();
    return {};
  });
}

lacuna_status lacuna_skip_importance_segment(const lacuna_skip_importance* importance, size_t index,
                                             lacuna_segment_importance* segment) {
  return guarded([&]() -> Status {
    if (!importance || !segment) return null_argument(importance ? "segment" : "importance");
    lacuna_segment_importance value = LACUNA_SEGMENT_IMPORTANCE_INIT;
    if (Status valid = read(segment, value); !valid) return valid;
    const auto all = importance->importance.segments();
    if (index >= all.size()) {
      return {Code::InvalidArgument, "index is " + std::to_string(index) +
                                         ", must be less than the number of segments, " + std::to_string(all.size())};
    }
    const auto& known = all[index];
    value = {segment->struct_size,  known.key, known.runs, known.count, known.share, known.important ? 1 : 0,
             known.measured ? 1 : 0};
    std::memcpy(segment, &value, segment->struct_size);
    return {};
  });
}

lacuna_status lacuna_skip_importance_save(const lacuna_skip_importance* importance, void* bytes, size_t capacity,
                                          size_t* length) {
  return guarded([&]() -> Status {
    if (!importance) return null_argument("importance");
    return hand_over(importance_kind, importance->importance.save(), {}, {bytes, capacity, length});
  });
}

lacuna_status lacuna_skip_importance_restore(lacuna_skip_importance* importance, const void* bytes, size_t length) {
  return guarded([&]() -> Status {
    if (!importance) return null_argument("importance");
    const auto body = take_back(importance_kind, bytes, length);
    return body ? importance->importance.restore(*body) : body.status();
  });
}
