#pragma once

#include <string>

namespace lacuna::cli {

/// Joins the job of the environment, whose ranks are all on this host, measures how long messages between them take,
/// and writes that to a file (rank 0), for `lacuna explain --tuned`. Returns the exit code.
int tune(const std::string& path);

}  // namespace lacuna::cli
