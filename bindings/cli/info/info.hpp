#pragma once

namespace lacuna::cli {

/// Prints versions and the configuration in effect, or the manual's table of variables. Returns the exit code.
int info(bool markdown);

}  // namespace lacuna::cli
