#pragma once

#include <string_view>

#include "transports/transport.hpp"

namespace lacuna {

/// Says who reaches memory over the lanes of an endpoint, or over the resources of a context, from what UCX has printed
/// about them. A transport that is not known counts as a device.
Access ucx_access_in(std::string_view printed);

}  // namespace lacuna
