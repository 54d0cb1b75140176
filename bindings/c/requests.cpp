#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Status;

lacuna::Request& lacuna::c::any(lacuna_request& request) {
  return std::visit([](Request& all) -> Request& { return all; }, request.request);
}

const lacuna::CallRequest& lacuna::c::call_of(const lacuna_request& request) {
  static const CallRequest none;
  if (const auto* prepared = std::get_if<PreparedCall>(&request.request)) return *prepared;
  const auto* call = std::get_if<CallRequest>(&request.request);
  return call ? *call : none;
}

lacuna_status lacuna_test(lacuna_request* request, int32_t* finished) {
  return guarded([&]() -> Status {
    if (!request || !finished) return null_argument(request ? "finished" : "request");
    if (Status may = request->home.check(); !may) return may;
    *finished = any(*request).test() ? 1 : 0;
    return {};
  });
}

lacuna_status lacuna_wait(lacuna_request* request, double timeout) {
  return guarded([&]() -> Status {
    if (!request) return null_argument("request");
    if (timeout < 0) return any(*request).wait();
    std::chrono::microseconds longest{0};
    if (Status valid = read_seconds("timeout", timeout, longest); !valid) return valid;
    return any(*request).wait(longest);
  });
}

namespace {

/// Carries out one of the waits for several requests.
template <class Wait>
Status wait_for_several(lacuna_request* const* requests, size_t count, size_t* index, Wait wait) {
  if (!requests && count > 0) return null_argument("requests");
  if (!index) return null_argument("index");
  const auto at = [](void* data, std::size_t place) -> lacuna::Request* {
    lacuna_request* const request = static_cast<lacuna_request* const*>(data)[place];
    return request ? &any(*request) : nullptr;
  };
  const lacuna::Waited told =
      wait(lacuna::RequestList(const_cast<lacuna_request**>(requests), count, at));  // the array is only read
  *index = told.index.value_or(count);
  return told.status;
}

/// Reads a timeout in seconds. A negative one stands for none.
Status read_timeout(double seconds, std::optional<std::chrono::microseconds>& timeout) {
  if (seconds < 0) return {};
  return read_seconds("timeout", seconds, timeout.emplace());
}

}  // namespace

lacuna_status lacuna_wait_all(lacuna_request* const* requests, size_t count, double timeout, size_t* index) {
  return guarded([&]() -> Status {
    std::optional<std::chrono::microseconds> longest;
    if (Status valid = read_timeout(timeout, longest); !valid) return valid;
    return wait_for_several(requests, count, index, [&](lacuna::RequestList list) { return wait_all(list, longest); });
  });
}

lacuna_status lacuna_wait_any(lacuna_request* const* requests, size_t count, double timeout, size_t* index) {
  return guarded([&]() -> Status {
    std::optional<std::chrono::microseconds> longest;
    if (Status valid = read_timeout(timeout, longest); !valid) return valid;
    return wait_for_several(requests, count, index, [&](lacuna::RequestList list) { return wait_any(list, longest); });
  });
}

lacuna_status lacuna_test_any(lacuna_request* const* requests, size_t count, size_t* index) {
  return guarded([&]() -> Status {
    return wait_for_several(requests, count, index, [](lacuna::RequestList list) { return test_any(list); });
  });
}

lacuna_status lacuna_start(lacuna_request* request) {
  return guarded([&]() -> Status {
    if (!request) return null_argument("request");
    if (auto* exchange = std::get_if<lacuna::PreparedExchange>(&request->request)) return exchange->start();
    auto* prepared = std::get_if<lacuna::PreparedCall>(&request->request);
    return prepared ? prepared->start() : Status(Code::InvalidArgument, "only a call that was prepared can be started");
  });
}

lacuna_status lacuna_hold_stream(lacuna_request* request, void* stream) {
  return guarded([&]() -> Status {
    if (!request) return null_argument("request");
    if (Status may = request->home.check(); !may) return may;
    return any(*request).hold_stream(stream);
  });
}

lacuna_status lacuna_reclaimed(lacuna_request* request, int32_t* reclaimed) {
  return guarded([&]() -> Status {
    if (!request || !reclaimed) return null_argument(request ? "reclaimed" : "request");
    if (Status may = request->home.check(); !may) return may;
    *reclaimed = any(*request).reclaimed() ? 1 : 0;
    return {};
  });
}

void lacuna_request_free(lacuna_request* request) { delete request; }
