#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lacuna::cli {

/// Objects keep their keys in the order in which they were added.
using Json = nlohmann::ordered_json;

/// Returns what every JSON result of the command begins with: the date, the machine, versions, the variables of the
/// environment that steer lacuna and UCX (without the job's key), and the command line.
Json provenance();

/// Returns the text of a result, with a line break at its end. Numbers that are not finite become null.
std::string json_text(const Json& json);

}  // namespace lacuna::cli
