#include "runtime/job/pmix.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/job/fork_guard.hpp"
#include "runtime/job/id_text.hpp"

namespace lacuna::runtime {
namespace {

// What is used of the interface, as the standard fixes it for all versions from 2 on.
struct Process {
  std::array<char, 256> space;
  std::uint32_t rank;
};
/// A value. The library makes those that it returns; ours have room for the largest member of its union.
struct alignas(8) Value {
  std::uint16_t type;
  union {
    bool flag;
    char* text;
    int integer;
    std::uint32_t number;
    std::byte room[56];
  };
};
struct Info {
  Info(std::string_view name, std::uint16_t type) : value{.type = type, .room = {}} {
    std::copy(name.begin(), name.end(), key.begin());
  }

  std::array<char, 512> key{};
  std::uint32_t flags = 0;
  Value value;
};
constexpr std::uint16_t flag_type = 1, text_type = 3, integer_type = 6, number_type = 14;
constexpr std::uint8_t to_all = 3;                  // the scope of what is put
constexpr std::uint32_t any_rank = UINT32_MAX - 1;  // stands for the whole job
constexpr int already_done = -157;                  // a call that would call back has ended at once
constexpr char size_of_job[] = "pmix.job.size", collect[] = "pmix.collect", timeout[] = "pmix.timeout";

using Init = int (*)(Process*, void*, std::size_t);
using Finalize = int (*)(const void*, std::size_t);
using Put = int (*)(std::uint8_t, const char*, Value*);
using Commit = int (*)();
using Done = void (*)(int code, void* user);
using Fence = int (*)(const Process*, std::size_t, const Info*, std::size_t, Done, void*);
using Get = int (*)(const Process*, const char*, const Info*, std::size_t, Value**);

Status checked(std::string_view function, int code) {
  return code == 0 ? Status() : Status(Code::Transport, fmt::format("{} returns {}", function, code));
}

/// A fence that is under way. It lives until it has ended, also if nobody waits for it any more.
class Meeting {
 public:
  Meeting() { collects_.value.flag = true; }

  static Status hold(Fence fence, const Deadline& deadline) {
    auto meeting = std::make_shared<Meeting>();
    auto own = std::make_unique<std::shared_ptr<Meeting>>(meeting);
    const int begun = fence(nullptr, 0, &meeting->collects_, 1, end, own.get());
    if (begun == already_done) return {};
    if (Status sound = checked("PMIx_Fence_nb", begun); !sound) return sound;
    (void)own.release();  // end() owns it
    std::unique_lock lock(meeting->mutex_);
    while (!meeting->ended_.wait_until(lock, deadline.next_look(), [&] { return meeting->code_.has_value(); })) {
      if (!deadline.has_passed()) continue;
      return {Code::TimedOut, "the launcher has not answered by PMIx: not all ranks join, or it has stopped"};
    }
    return checked("PMIx_Fence_nb", *meeting->code_);
  }

 private:
  static void end(int code, void* user) {
    const std::unique_ptr<std::shared_ptr<Meeting>> own(static_cast<std::shared_ptr<Meeting>*>(user));
    const std::lock_guard lock((*own)->mutex_);
    (*own)->code_ = code;
    (*own)->ended_.notify_all();
  }

  Info collects_{collect, flag_type};  // the library reads it until the end
  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<int> code_;
};

/// The library, and the connection to the launcher.
class Pmix {
 public:
  Pmix() {
    const char* const name = "libpmix.so.2";
    void* library = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      status_ = {Code::Transport, fmt::format("{} can't be loaded: {}", name, ::dlerror())};
      return;
    }
    const auto find = [&](const char* function, auto& pointer) {
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(::dlsym(library, function));
      if (pointer == nullptr) status_ = {Code::Transport, fmt::format("{} has no {}", name, function)};
    };
    Init init = nullptr;
    find("PMIx_Init", init);
    find("PMIx_Finalize", finalize_);
    find("PMIx_Put", put_);
    find("PMIx_Commit", commit_);
    find("PMIx_Fence_nb", fence_);
    find("PMIx_Get", get_);
    if (!status_) return;
    status_ = checked("PMIx_Init", init(&self_, nullptr, 0));
    is_connected_ = static_cast<bool>(status_);
  }
  ~Pmix() {
    if (is_connected_ && home_.is_here()) finalize_(nullptr, 0);
  }
  Pmix(const Pmix&) = delete;
  Pmix& operator=(const Pmix&) = delete;

  Result<PmixPlace> place() {
    if (Status may = home_.check(); !may) return may;
    const std::lock_guard lock(mutex_);
    if (!status_) return status_;
    Value* size = nullptr;
    if (Status got = get(any_rank, size_of_job, size); !got) return got;
    if (size->type != number_type) return Status(Code::Transport, "PMIx tells a size of the job that is no number");
    return PmixPlace{static_cast<Rank>(self_.rank), static_cast<Rank>(size->number)};
  }

  /// Rank 0 passes the fence even if it could put nothing, because the others wait there.
  Status share(UniqueId& id, const Deadline& deadline) {
    if (Status may = home_.check(); !may) return may;
    const std::lock_guard lock(mutex_);
    if (!status_) return status_;
    const std::string name = fmt::format("lacuna.{}", shared_++);
    const Status sent = self_.rank == 0 ? put(name, text_of(id)) : Status();
    // After a failure the launcher counts this rank's fences otherwise than those of the others.
    if (status_ = Meeting::hold(fence_, deadline); !status_) return status_;
    if (self_.rank == 0) return sent;
    Value* told = nullptr;
    if (Status got = get(0, name.c_str(), told); !got) return got;
    if (told->type == text_type && read_id(told->text, id)) return {};
    return {Code::Transport, "PMIx brings no unique id of lacuna from rank 0"};
  }

 private:
  Status put(const std::string& name, std::string text) const {
    Value value{};
    value.type = text_type;
    value.text = text.data();
    if (Status put = checked("PMIx_Put", put_(to_all, name.c_str(), &value)); !put) return put;
    return checked("PMIx_Commit", commit_());
  }
  /// The value stays with the library, which has given it away for good.
  Status get(std::uint32_t of, const char* name, Value*& value) const {
    Process process = self_;
    process.rank = of;
    Info longest(timeout, integer_type);
    longest.value.integer = 10;  // seconds; what is asked for is there already
    return checked(fmt::format("PMIx_Get of {}", name), get_(&process, name, &longest, 1, &value));
  }

  const Home home_;
  std::mutex mutex_;
  Status status_;
  bool is_connected_ = false;
  unsigned shared_ = 0;
  Process self_{};
  Finalize finalize_ = nullptr;
  Put put_ = nullptr;
  Commit commit_ = nullptr;
  Fence fence_ = nullptr;
  Get get_ = nullptr;
};

Pmix& pmix() {
  static Pmix connection;
  return connection;
}

}  // namespace

Result<PmixPlace> place_by_pmix() { return pmix().place(); }

Status share_by_pmix(UniqueId& id, const Deadline& deadline) { return pmix().share(id, deadline); }

}  // namespace lacuna::runtime
