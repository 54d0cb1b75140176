#include <mutex>

#include "bindings/c/interface.hpp"

namespace {

/// Where log lines go. There is one target for the process, because lacuna's log is one for the process too.
struct LogTarget {
  lacuna_log_callback callback = nullptr;
  void* user = nullptr;
};
std::mutex log_setting_mutex, log_mutex;
LogTarget log_target;

void log_to_target(lacuna::LogLevel level, std::string_view text, void*) {
  LogTarget target;
  {
    const std::lock_guard lock(log_mutex);
    target = log_target;
  }
  if (target.callback) target.callback(static_cast<int32_t>(level), std::string(text).c_str(), target.user);
}

}  // namespace

void lacuna_set_log_callback(lacuna_log_callback callback, void* user) {
  const std::lock_guard lock(log_setting_mutex);  // not log_mutex, because a line that is being logged needs that one
  if (!callback) lacuna::set_log_callback(nullptr, nullptr);
  {
    const std::lock_guard target_lock(log_mutex);
    log_target = {callback, user};
  }
  if (callback) lacuna::set_log_callback(log_to_target, nullptr);
}

const char* lacuna_version(void) { return lacuna::version().data(); }

const char* lacuna_status_text(lacuna_status status) {
  return lacuna::to_string(static_cast<lacuna::Code>(status)).data();
}

const char* lacuna_last_error(void) { return lacuna::c::last_error().c_str(); }

lacuna_status lacuna_fail(lacuna_status status, const char* text) {
  if (status == LACUNA_OK) return status;
  return lacuna::c::done({static_cast<lacuna::Code>(status), text ? text : ""});
}
