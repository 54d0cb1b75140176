#pragma once

#include <filesystem>
#include <string>

namespace lacuna::test {

/// Does the folder of a method hold a checkpoint? Old ones are removed, so a certain one may be gone when a test looks.
/// The name of a manifest that is still being written ends with .tmp.
inline bool holds_a_set(const std::filesystem::path& sets) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(sets, none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("manifest-") && name.ends_with(".json")) return true;
  }
  return false;
}

}  // namespace lacuna::test
