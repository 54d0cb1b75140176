#include "tests/support/guarded_compute.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tests/support/run_backend.hpp"

namespace lacuna::test {
namespace {

constexpr std::size_t alignment = 64;  // a copy is aligned like its original, up to this

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

std::size_t in_pages(std::size_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

/// Pages of memory between two pages that nobody may touch.
class Pages {
 public:
  explicit Pages(std::size_t inner_bytes) : all_bytes_(inner_bytes + 2 * page_bytes()), inner_bytes_(inner_bytes) {
    void* all = ::mmap(nullptr, all_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    all_ = static_cast<std::byte*>(all);
  }
  ~Pages() { ::munmap(all_, all_bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  void allow(int access) {
    if (access == access_) return;
    if (::mprotect(inner(), inner_bytes_, access) != 0) throw std::runtime_error("mprotect");
    access_ = access;
  }
  std::byte* inner() const { return all_ + page_bytes(); }
  std::byte* end() const { return inner() + inner_bytes_; }

 private:
  std::byte* all_ = nullptr;
  const std::size_t all_bytes_, inner_bytes_;
  int access_ = PROT_NONE;
};

/// Pages of all sizes, which steps use one after the other: to map new ones takes longer than most steps.
class KeptPages {
 public:
  /// Pages for so many bytes. They are the caller's until `give_all_back`.
  Pages& take(std::size_t bytes) {
    Kept& of_size = kept_[in_pages(bytes)];
    if (of_size.taken == of_size.all.size()) of_size.all.push_back(std::make_unique<Pages>(in_pages(bytes)));
    Pages& pages = *of_size.all[of_size.taken++];
    pages.allow(PROT_READ | PROT_WRITE);
    return pages;
  }
  void give_all_back() {
    for (auto& [bytes, of_size] : kept_) of_size.taken = 0;
  }

 private:
  struct Kept {
    std::vector<std::unique_ptr<Pages>> all;
    std::size_t taken = 0;
  };
  std::map<std::size_t, Kept> kept_;  // by bytes
};

/// Tests with guarded steps have one thread.
KeptPages& kept_pages() {
  static KeptPages pages;
  return pages;
}

/// The bytes [begin, end), which a step declares, and their copy.
struct Declared {
  std::byte *begin, *end;
  bool written;
  bool is_data;  ///< they lie where the call's data lie
  std::byte* copy = nullptr;
  Pages* pages = nullptr;  ///< which hold the copy

  std::size_t bytes() const { return static_cast<std::size_t>(end - begin); }
  bool is_like(const Declared& other) const { return written == other.written && is_data == other.is_data; }
  int access() const { return written ? PROT_READ | PROT_WRITE : PROT_READ; }
};

/// Calls visit(extent, written, is_data) for each extent that a step declares. `written`: the step writes it.
/// `is_data`: it lies where the call's data lie. All that steps without a kernel touch counts as data.
template <class Visit>
void each_extent(runtime::Work& work, const Visit& visit) {
  if (!work.kernel) {
    visit(work.computation.from, false, true);
    visit(work.computation.local, false, true);
    visit(work.computation.to, true, true);
    return;
  }
  const auto is_data = [&](const Region& region) {
    return work.step.part->graph->buffer(region).memory != MemoryKind::Host;
  };
  for (std::size_t i = 0; i < work.reads.size(); ++i) visit(work.reads[i], false, is_data(work.kernel->reads[i]));
  for (std::size_t i = 0; i < work.writes.size(); ++i) visit(work.writes[i], true, is_data(work.kernel->writes[i]));
}

/// Returns the memory that a step declares. Regions that share bytes become one, and so do regions of one kind that
/// touch.
std::vector<Declared> declared_by(runtime::Work& work) {
  std::vector<Declared> all;
  each_extent(work, [&](const Extent& extent, bool written, bool is_data) {
    all.push_back({extent.data, extent.data + extent.bytes(), written, is_data});
  });
  std::erase_if(all, [](const Declared& one) { return one.begin == one.end; });
  std::sort(all.begin(), all.end(), [](const Declared& a, const Declared& b) { return a.begin < b.begin; });
  std::vector<Declared> joined;
  for (const Declared& one : all) {
    Declared* last = joined.empty() ? nullptr : &joined.back();
    if (last && (one.begin < last->end || (one.begin == last->end && one.is_like(*last)))) {
      last->end = std::max(last->end, one.end);
      last->written = last->written || one.written;
      last->is_data = last->is_data || one.is_data;
    } else {
      joined.push_back(one);
    }
  }
  return joined;
}

/// Returns a place for the copy, as near to the end of its pages as the alignment of the original allows.
std::byte* place_in(const Pages& pages, const Declared& one) {
  const auto of = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) % alignment; };
  std::byte* copy = pages.end() - one.bytes();
  while (of(copy) != of(one.begin)) --copy;
  return copy;
}

void move_to_copy(Extent& extent, const std::vector<Declared>& all) {
  if (extent.bytes() == 0) return;
  for (const Declared& one : all) {
    if (extent.data >= one.begin && extent.data < one.end) {
      extent.data = one.copy + (extent.data - one.begin);
      return;
    }
  }
}

/// The name of the step that runs, for the line about a fault.
std::array<char, 64> running{};
struct sigaction before_us {};

/// Says which step has touched memory that it may not, and lets the fault end the process as it would have.
void tell(int signal, siginfo_t*, void*) {
  constexpr std::string_view text = "this step has touched memory that it may not: ";
  for (const std::string_view part : {text, std::string_view(running.data()), std::string_view("\n")}) {
    static_cast<void>(!::write(STDERR_FILENO, part.data(), part.size()));
  }
  ::sigaction(signal, &before_us, nullptr);
}

/// While this object exists, a fault is reported before it ends the process.
class Teller {
 public:
  explicit Teller(std::string_view step) {
    running.fill(0);
    step.copy(running.data(), running.size() - 1);
    struct sigaction action {};
    action.sa_sigaction = tell;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, &before_us);
  }
  ~Teller() { ::sigaction(SIGSEGV, &before_us, nullptr); }
  Teller(const Teller&) = delete;
  Teller& operator=(const Teller&) = delete;
};

class GuardedCompute final : public runtime::Compute {
 public:
  bool takes(std::size_t) const override { return true; }
  Started start(runtime::Work& work) override {
    const std::vector<Extent> reads = work.reads, writes = work.writes;
    const runtime::Computation computation = work.computation;
    std::vector<Declared> all = declared_by(work);
    for (Declared& one : all) {
      one.pages = &kept_pages().take(one.bytes() + alignment);
      one.copy = place_in(*one.pages, one);
      std::memcpy(one.copy, one.begin, one.bytes());
    }
    each_extent(work, [&](Extent& extent, bool, bool) { move_to_copy(extent, all); });
    const auto show = [&](Sees sees) {
      for (const Declared& one : all) {
        const bool is_seen = sees == Sees::All || (sees == Sees::Data) == one.is_data;
        one.pages->allow(is_seen ? one.access() : PROT_NONE);
      }
    };
    show(Sees::Tables);
    const kernels::Backend& real = *work.backend;
    const RunBackend opening(real, [&](const BackendCall& call, const std::function<void()>& compute) {
      show(call.sees);
      compute();
      show(Sees::Tables);
    });
    work.backend = &opening;
    carry_out_trapped(work);
    work.backend = &real;
    show(Sees::All);
    for (const Declared& one : all) {
      if (one.written) std::memcpy(one.begin, one.copy, one.bytes());
    }
    kept_pages().give_all_back();
    work.reads = reads;
    work.writes = writes;
    work.computation = computation;
    return Started::Done;
  }
  runtime::Work* ended() override { return nullptr; }
  bool wants_turn() const override { return false; }
  bool advance() override { return false; }

 private:
  /// Carries out a step. A kernel gets a call whose pointers lead to memory that nobody may touch.
  void carry_out_trapped(runtime::Work& work) {
    const Teller teller(work.kernel ? work.kernel->kernel->name : traits_of(work.computation.kind).name);
    if (!work.kernel) return carry_out(work);
    const PartView part = *work.part;
    Call call = part.call;
    const auto trap = [&](auto& pointer) {
      using Pointer = std::remove_reference_t<decltype(pointer)>;
      if (pointer) pointer = reinterpret_cast<Pointer>(trap_.inner());
    };
    trap(call.input);
    trap(call.output);
    trap(call.input_entries.places);
    trap(call.output_entries.places);
    trap(call.output_entries.count);
    work.part.emplace(PartView{.call = call,
                               .plan = part.plan,
                               .part = part.part,
                               .size = part.size,
                               .position = part.position,
                               .count = part.count,
                               .state_run = part.state_run});
    carry_out(work);
    work.part.emplace(part);
  }

  const Pages trap_{page_bytes()};  // which nobody may touch
};

}  // namespace

std::unique_ptr<runtime::Compute> guarded_compute() { return std::make_unique<GuardedCompute>(); }

}  // namespace lacuna::test
