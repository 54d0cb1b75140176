#pragma once

#include <string_view>

#include "transports/transport.hpp"

namespace lacuna {

/// Who reaches memory over the lanes of an endpoint, or the resources of a context, that UCX has printed. What is not
/// known counts as a device.
Access ucx_access_in(std::string_view printed);

}  // namespace lacuna
