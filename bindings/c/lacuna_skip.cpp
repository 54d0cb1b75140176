#include "bindings/c/lacuna_skip.h"

#include <algorithm>

#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/importance.hpp"
#include "algorithms/skip/skip.hpp"
#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Status;

lacuna_status lacuna_skip_create(const char* options, const lacuna_skip_segment* segments, size_t segment_count,
                                 lacuna_method** method) {
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
      skip.segments.push_back({segment.offset, segment.count, static_cast<lacuna::SkipPolicy>(segment.policy)});
    }
    *method = new lacuna_method{lacuna::skip(std::move(skip))};
    return {};
  });
}

lacuna_status lacuna_skip_get_importance(const lacuna_state* state, size_t index, lacuna_segment_importance* importance,
                                         size_t* count) {
  return guarded([&]() -> Status {
    if (!state) return null_argument("state");
    if (!importance && !count) return null_argument("count");
    const auto all = lacuna::importance_of(state->state);
    if (count) *count = all.size();
    if (!importance) return {};
    lacuna_segment_importance value = LACUNA_SEGMENT_IMPORTANCE_INIT;
    if (Status valid = read(importance, value); !valid) return valid;
    if (index >= all.size()) {
      return {Code::InvalidArgument, "index is " + std::to_string(index) +
                                         ", must be less than the number of segments, " + std::to_string(all.size())};
    }
    const lacuna::SegmentImportance& known = all[index];
    value = {importance->struct_size, known.segment,         known.count, known.share,
             known.important ? 1 : 0, known.measured ? 1 : 0};
    std::memcpy(importance, &value, importance->struct_size);
    return {};
  });
}
