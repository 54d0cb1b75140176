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
    std::chrono::milliseconds longest{0};
    if (Status valid = read_seconds("timeout", timeout, longest); !valid) return valid;
    return any(*request).wait(longest);
  });
}

lacuna_status lacuna_start(lacuna_request* request) {
  return guarded([&]() -> Status {
    if (!request) return null_argument("request");
    auto* prepared = std::get_if<lacuna::PreparedCall>(&request->request);
    return prepared ? prepared->start() : Status(Code::InvalidArgument, "only a call that was prepared can be started");
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
