#include "algorithms/registry/plugins.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace lacuna {
namespace {

Status load(const std::string& path) {
  const auto wrong = [&](std::string_view why) {
    return Status(Code::InvalidArgument, fmt::format("LACUNA_PLUGINS: {}: {}", path, why));
  };
  // A path without a slash would be looked for in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* plugin = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return wrong(::dlerror());
  const auto* layout = static_cast<const std::uint64_t*>(::dlsym(plugin, "lacuna_plugin_layout"));
  const auto add = reinterpret_cast<void (*)(Status*)>(::dlsym(plugin, "lacuna_plugin"));
  if (layout == nullptr || add == nullptr) return wrong("it is no plugin: it lacks LACUNA_PLUGIN(function)");
  if (*layout != plugin_layout) return wrong("it was built for another version of lacuna");
  Status added;
  add(&added);
  return added ? added : wrong(added.message());
}

}  // namespace

Status load_plugins(std::string_view paths) {
  while (!paths.empty()) {
    const std::string_view path = paths.substr(0, paths.find(':'));
    paths.remove_prefix(std::min(path.size() + 1, paths.size()));
    if (path.empty()) continue;
    if (Status loaded = load(std::string(path)); !loaded) return loaded;
  }
  return {};
}

}  // namespace lacuna
