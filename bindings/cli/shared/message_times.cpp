#include "bindings/cli/shared/message_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/files/regular_file.hpp"

namespace lacuna::cli {
namespace {

/// Returns what is wrong with the figures. The text is empty if nothing is.
std::string flaw_of(const char* name, const TimeCurve& curve) {
  if (curve.points.empty()) return fmt::format("{} is empty", name);
  double before = 0;
  for (const auto& [bytes, seconds] : curve.points) {
    if (!(bytes > before)) return fmt::format("{}: {} bytes follow {}; sizes must grow", name, bytes, before);
    if (!(seconds > 0)) return fmt::format("{}: {} seconds for {} bytes; must be more than 0", name, seconds, bytes);
    before = bytes;
  }
  return {};
}

std::string flaw_of(const MessageTimes& times) {
  if (times.ranks < 2 || times.processors < 1) return "ranks must be at least 2, and processors at least 1";
  for (const auto& [name, curve] :
       {std::pair("messages", &times.messages), {"rows", &times.rows}, {"copies", &times.copies}}) {
    if (std::string flaw = flaw_of(name, *curve); !flaw.empty()) return flaw;
  }
  return {};
}

Json json_of(const TimeCurve& curve) {
  Json all = Json::array();
  for (const auto& [bytes, seconds] : curve.points) all.push_back({{"bytes", bytes}, {"seconds", seconds}});
  return all;
}

TimeCurve curve_of(const Json& all) {
  TimeCurve curve;
  for (const Json& one : all) curve.points.push_back({one.at("bytes").get<double>(), one.at("seconds").get<double>()});
  return curve;
}

}  // namespace

const MessageTimes& MessageTimes::of_reference() {
  static const MessageTimes times{.ranks = 2,
                                  .processors = 2,
                                  .from = "the machine of docs/performance.md; `lacuna tune` measures yours",
                                  .messages = {{{8, 0.4752e-6},
                                                {1 << 10, 0.5645e-6},
                                                {4 << 10, 0.6931e-6},
                                                {16 << 10, 1.038e-6},
                                                {64 << 10, 3.341e-6},
                                                {256 << 10, 12.47e-6},
                                                {1 << 20, 60.93e-6},
                                                {4 << 20, 240.8e-6},
                                                {16 << 20, 1.942e-3},
                                                {64 << 20, 7.577e-3}}},
                                  .rows = {{{8, 0.2623e-6},
                                            {64, 0.275e-6},
                                            {256, 0.2846e-6},
                                            {1 << 10, 0.3327e-6},
                                            {4 << 10, 0.4719e-6},
                                            {16 << 10, 2.558e-6},
                                            {64 << 10, 8.989e-6}}},
                                  .copies = {{{8, 0.4031e-6},
                                              {1 << 10, 0.4744e-6},
                                              {4 << 10, 0.5551e-6},
                                              {16 << 10, 1.752e-6},
                                              {32 << 10, 2.609e-6},
                                              {64 << 10, 4.07e-6},
                                              {128 << 10, 5.934e-6},
                                              {256 << 10, 10.73e-6},
                                              {512 << 10, 23.08e-6},
                                              {1 << 20, 43.93e-6},
                                              {2 << 20, 92e-6},
                                              {4 << 20, 222.9e-6},
                                              {8 << 20, 0.74e-3},
                                              {32 << 20, 3.525e-3}}}};
  return times;
}

Result<MessageTimes> MessageTimes::read(const std::string& path) {
  const auto wrong = [&](const std::string& why) {
    return Status(Code::InvalidArgument, fmt::format("{} is no file of `lacuna tune`: {}", path, why));
  };
  const Result<std::string> text = read_regular(path, Links::Followed);
  if (!text) return text.status();
  MessageTimes times{.from = path};
  try {
    const Json json = Json::parse(*text);
    times.ranks = json.at("ranks").get<Rank>();
    times.processors = json.at("processors").get<int>();
    times.messages = curve_of(json.at("messages"));
    times.rows = json.contains("rows") ? curve_of(json.at("rows")) : times.messages;
    times.copies = json.contains("copies") ? curve_of(json.at("copies")) : times.messages;
  } catch (const Json::exception& error) {
    return wrong(error.what());
  }
  if (const std::string flaw = flaw_of(times); !flaw.empty()) return wrong(flaw);
  return times;
}

Json MessageTimes::json() const {
  Json json = provenance();
  json["ranks"] = ranks;
  json["processors"] = processors;
  json["messages"] = json_of(messages);
  json["rows"] = json_of(rows);
  json["copies"] = json_of(copies);
  return json;
}

double TimeCurve::seconds(double bytes) const {
  const auto above = std::find_if(points.begin(), points.end(), [&](const Point& one) { return one.bytes >= bytes; });
  if (above == points.begin()) return above->seconds;
  if (above == points.end()) return points.back().seconds * bytes / points.back().bytes;
  const Point &low = above[-1], &high = *above;
  const double along = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
  return low.seconds * std::pow(high.seconds / low.seconds, along);
}

}  // namespace lacuna::cli
