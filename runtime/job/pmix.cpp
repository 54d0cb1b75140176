#include "runtime/job/pmix.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstring>

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
    char* text;
    std::uint32_t number;
    std::byte room[56];
  };
};
constexpr std::uint16_t text_type = 3, number_type = 14;
constexpr std::uint8_t to_all = 3;                  // the scope of what is put
constexpr std::uint32_t any_rank = UINT32_MAX - 1;  // stands for the whole job
constexpr char size_of_job[] = "pmix.job.size", key[] = "lacuna.store";

using Init = int (*)(Process*, void*, std::size_t);
using Finalize = int (*)(const void*, std::size_t);
using Put = int (*)(std::uint8_t, const char*, Value*);
using Commit = int (*)();
using Fence = int (*)(const Process*, std::size_t, const void*, std::size_t);
using Get = int (*)(const Process*, const char*, const void*, std::size_t, Value**);

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
    find("PMIx_Fence", fence_);
    find("PMIx_Get", get_);
    if (!status_) return;
    status_ = checked("PMIx_Init", init(&self_, nullptr, 0));
    is_connected_ = static_cast<bool>(status_);
  }
  ~Pmix() {
    if (is_connected_) finalize_(nullptr, 0);
  }
  Pmix(const Pmix&) = delete;
  Pmix& operator=(const Pmix&) = delete;

  Result<PmixPlace> place() const {
    if (!status_) return status_;
    Value* size = nullptr;
    if (Status got = get(any_rank, size_of_job, size); !got) return got;
    if (size->type != number_type) return Status(Code::Transport, "PMIx tells a size of the job that is no number");
    return PmixPlace{static_cast<Rank>(self_.rank), static_cast<Rank>(size->number)};
  }

  Result<std::string> share(const std::string& text) const {
    if (!status_) return status_;
    if (self_.rank == 0) {
      std::string copy = text;
      Value value{};
      value.type = text_type;
      value.text = copy.data();
      if (Status put = checked("PMIx_Put", put_(to_all, key, &value)); !put) return put;
    }
    if (Status sent = checked("PMIx_Commit", commit_()); !sent) return sent;
    if (Status met = checked("PMIx_Fence", fence_(nullptr, 0, nullptr, 0)); !met) return met;
    Value* told = nullptr;
    if (Status got = get(0, key, told); !got) return got;
    if (told->type != text_type) return Status(Code::Transport, "PMIx tells a store that is no text");
    return std::string(told->text);
  }

 private:
  static Status checked(std::string_view function, int code) {
    return code == 0 ? Status() : Status(Code::Transport, fmt::format("{} returns {}", function, code));
  }
  /// The value stays with the library, which has given it away for good.
  Status get(std::uint32_t of, const char* name, Value*& value) const {
    Process process = self_;
    process.rank = of;
    return checked(fmt::format("PMIx_Get of {}", name), get_(&process, name, nullptr, 0, &value));
  }

  Status status_;
  bool is_connected_ = false;
  Process self_{};
  Finalize finalize_ = nullptr;
  Put put_ = nullptr;
  Commit commit_ = nullptr;
  Fence fence_ = nullptr;
  Get get_ = nullptr;
};

const Pmix& pmix() {
  static const Pmix connection;
  return connection;
}

}  // namespace

Result<PmixPlace> place_by_pmix() { return pmix().place(); }

Result<std::string> share_by_pmix(const std::string& text) { return pmix().share(text); }

}  // namespace lacuna::runtime
