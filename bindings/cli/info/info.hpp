#pragma once

namespace lacuna::cli {

enum class InfoForm { Text, JsonText, Markdown };

/// Prints versions and the configuration in effect, or for Markdown the manual's table of variables. Returns the exit
/// code.
int info(InfoForm form);

}  // namespace lacuna::cli
