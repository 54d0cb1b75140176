#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/values/status.hpp"
#include "transports/ucx.hpp"

struct ucp_context;  // UCX's own, so that its headers stay out of this one
struct ucp_worker;

namespace lacuna {

struct ReleaseUcx {
  void operator()(ucp_context* context) const;
  void operator()(ucp_worker* worker) const;
};

/// UCX after its start, for as long as the transport lives.
struct UcxWorker {
  std::unique_ptr<ucp_context, ReleaseUcx> context;
  std::unique_ptr<ucp_worker, ReleaseUcx> worker;
  std::vector<std::byte> address;
  std::size_t largest_fragment = 0;  ///< bytes; a header and a payload of so many bytes together are never cut
  int event_fd = -1;
};

Result<UcxWorker> start_ucx(const UcxOptions& options);

}  // namespace lacuna
