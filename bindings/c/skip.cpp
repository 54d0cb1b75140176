#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Status;

namespace lacuna::c {
namespace {

Status check_list(const char* name, const void* list, const char* number_name, std::size_t number) {
  if (list || number == 0) return {};
  return {Code::InvalidArgument,
          std::string("skip.") + name + " is null, and skip." + number_name + " is " + std::to_string(number)};
}

Status read_lists(const lacuna_skip& value, Skip& skip, SkipLists& lists) {
  if (Status valid = check_list("schedule", value.schedule, "stages", value.stages); !valid) return valid;
  if (Status valid = check_list("segments", value.segments, "segment_count", value.segment_count); !valid) return valid;
  for (const lacuna_skip_stage& stage : std::span(value.schedule, value.stages)) {
    lists.schedule.push_back({stage.from_run, stage.steps});
  }
  for (const lacuna_skip_segment& segment : std::span(value.segments, value.segment_count)) {
    if (Status valid = check_range("skip.segments: policy", segment.policy, LACUNA_POLICY_AUTOMATIC); !valid) {
      return valid;
    }
    lists.segments.push_back({segment.offset, segment.count, static_cast<SkipPolicy>(segment.policy), segment.key});
  }
  skip.schedule = lists.schedule;
  skip.segments = lists.segments;
  return {};
}

}  // namespace

Status read_skip(const lacuna_skip* given, Skip& skip, SkipLists& lists) {
  if (!given) return {};
  lacuna_skip value = LACUNA_SKIP_INIT;
  if (Status valid = read(given, value); !valid) return {valid.code(), "skip: " + std::string(valid.message())};
  if (Status valid = check_range("skip.scale", value.scale, LACUNA_SKIP_FACTOR); !valid) return valid;
  skip.ratio = value.ratio;
  skip.scale = static_cast<SkipScale>(value.scale);
  skip.factor = value.factor;
  skip.feedback = value.feedback != 0;
  skip.incomplete = value.incomplete != 0;
  skip.gather_steps = value.gather_steps;
  skip.keep = value.keep != 0;
  skip.reversed = value.reversed != 0;
  skip.warm_up = value.warm_up;
  skip.small = value.small;
  skip.audit = value.audit;
  skip.audit_samples = value.audit_samples;
  if (value.state) skip.state = &value.state->state;
  if (value.importance) skip.importance = &value.importance->importance;
  return read_lists(value, skip, lists);
}

}  // namespace lacuna::c

lacuna_status lacuna_get_skip_report(const lacuna_request* request, lacuna_skip_report* report) {
  return guarded([&]() -> Status {
    if (!request || !report) return null_argument(request ? "report" : "request");
    if (Status may = request->home.check(); !may) return may;
    lacuna_skip_report value = LACUNA_SKIP_REPORT_INIT;
    if (Status valid = read(report, value); !valid) return valid;
    const lacuna::SkipReport all = request->request.skip_report();
    value = {report->struct_size, all.steps,         all.gather_steps,        all.rounds,
             all.dense_rounds,    all.sent,          all.dense_sent,          all.received,
             all.dense_received,  all.contributions, all.dense_contributions, all.lacking};
    std::memcpy(report, &value, report->struct_size);
    return {};
  });
}

lacuna_status lacuna_skip_mask(const lacuna_request* request, int32_t rank, lacuna_skip_gap* gaps, size_t capacity,
                               size_t* count) {
  return guarded([&]() -> Status {
    if (!request || !count) return null_argument(request ? "count" : "request");
    if (!gaps && capacity > 0) return null_argument("gaps");
    const auto mask = request->request.skip_mask(rank);
    if (!mask) return mask.status();
    *count = mask->size();
    if (capacity < mask->size()) return too_small(capacity, mask->size());
    for (std::size_t i = 0; i < mask->size(); ++i) gaps[i] = {(*mask)[i].offset, (*mask)[i].count, (*mask)[i].from};
    return {};
  });
}
