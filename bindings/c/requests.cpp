#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Status;

lacuna_status lacuna_test(lacuna_request* request, int32_t* finished) {
  return guarded([&]() -> Status {
    if (!request || !finished) return null_argument(request ? "finished" : "request");
    if (Status may = request->home.check(); !may) return may;
    *finished = request->request.test() ? 1 : 0;
    return {};
  });
}

lacuna_status lacuna_wait(lacuna_request* request, double timeout) {
  return guarded([&]() -> Status {
    if (!request) return null_argument("request");
    if (timeout < 0) return request->request.wait();
    std::chrono::milliseconds longest{0};
    if (Status valid = read_seconds("timeout", timeout, longest); !valid) return valid;
    return request->request.wait(longest);
  });
}

lacuna_status lacuna_start(lacuna_request* request) {
  return guarded([&] { return request ? request->request.start() : null_argument("request"); });
}

lacuna_status lacuna_reclaimed(lacuna_request* request, int32_t* reclaimed) {
  return guarded([&]() -> Status {
    if (!request || !reclaimed) return null_argument(request ? "reclaimed" : "request");
    if (Status may = request->home.check(); !may) return may;
    *reclaimed = request->request.reclaimed() ? 1 : 0;
    return {};
  });
}

void lacuna_request_free(lacuna_request* request) { delete request; }
