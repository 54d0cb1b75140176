#include "bindings/c/lacuna_skip.h"

#include <algorithm>

#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/importance.hpp"
#include "algorithms/skip/skip.hpp"
#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Status;

struct lacuna_skip_importance {
  lacuna::SkipImportance importance;
};

lacuna_status lacuna_skip_create(const char* options, const lacuna_skip_segment* segments, size_t segment_count,
                                 lacuna_skip_importance* importance, lacuna_method** method) {
  return guarded([&]() -> Status {
    if (!method) return null_argument("method");
    if (!segments && segment_count > 0) {
      return {Code::InvalidArgument, "segments is null, and segment_count is " + std::to_string(segment_count)};
    }
    std::string text(lacuna::skip_method.name);
    if (options && *options) text += std::string(":") + options;
    const auto plain = lacuna::method_options(text);
    if (!plain) return plain.status();
    lacuna::Skip skip = plain->as<lacuna::Skip>();
    for (const lacuna_skip_segment& segment : std::span(segments, segment_count)) {
      if (Status valid = check_range("segments: policy", segment.policy, LACUNA_POLICY_AUTOMATIC); !valid) return valid;
      skip.segments.push_back(
          {segment.offset, segment.count, static_cast<lacuna::SkipPolicy>(segment.policy), segment.key});
    }
    if (importance) skip.importance = &importance->importance;
    *method = new lacuna_method{lacuna::skip(std::move(skip))};
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
    if (!length) return null_argument("length");
    if (!bytes && capacity > 0) return null_argument("bytes");
    const std::vector<std::byte> saved = importance->importance.save();
    *length = saved.size();
    if (capacity < saved.size()) return too_small(capacity, saved.size());
    std::copy(saved.begin(), saved.end(), static_cast<std::byte*>(bytes));
    return {};
  });
}

lacuna_status lacuna_skip_importance_restore(lacuna_skip_importance* importance, const void* bytes, size_t length) {
  return guarded([&]() -> Status {
    if (!importance) return null_argument("importance");
    if (!bytes) return null_argument("bytes");
    return importance->importance.restore({static_cast<const std::byte*>(bytes), length});
  });
}
