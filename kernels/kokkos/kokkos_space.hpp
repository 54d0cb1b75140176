#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include "kernels/host_space.hpp"
#include "kernels/kokkos/device_scan.hpp"
#include "kernels/kokkos/policies.hpp"
#include "kernels/kokkos/turn.hpp"
#ifdef LACUNA_KERNELS_ON_DEVICE
#include "kernels/cuda/note_module.hpp"
#endif

/// Runs functors by Kokkos. The members are those of HostSpace (kernels/host_space.hpp), which explains them.
namespace lacuna::kernels {

#ifdef KOKKOS_ENABLE_SERIAL
template <class Execution>
inline constexpr bool is_serial = std::is_same_v<Execution, Kokkos::Serial>;
#else
template <class Execution>
inline constexpr bool is_serial = false;
#endif

/// Does it compute on memory of the host? Then a call returns once it has ended. If not, a call only enters a queue.
template <class Execution>
inline constexpr bool is_on_host = std::is_same_v<Execution, Kokkos::DefaultHostExecutionSpace>;

/// A team of Kokkos, as one of its threads sees it.
template <class Execution>
class KokkosTeam {
 public:
  using Member = typename TeamsOf<Execution>::member_type;

  KOKKOS_FUNCTION KokkosTeam(const Member& member, void* scratch) : member_(member), scratch_(scratch) {}

  KOKKOS_FUNCTION std::size_t number() const { return static_cast<std::size_t>(member_.league_rank()); }
  template <class T>
  KOKKOS_FUNCTION T* scratch() const {
    return static_cast<T*>(scratch_);
  }
  template <class Body>
  KOKKOS_FUNCTION void each(std::size_t count, const Body& body) const {
    if constexpr (is_on_host<Execution>) {
      for (std::size_t i = 0; i < count; ++i) body(i);
    } else {
      const auto size = static_cast<std::size_t>(member_.team_size());
      for (auto i = static_cast<std::size_t>(member_.team_rank()); i < count; i += size) body(i);
    }
  }
  KOKKOS_FUNCTION void barrier() const { member_.team_barrier(); }
  template <class Body>
  KOKKOS_FUNCTION void once(const Body& body) const {
    if (member_.team_rank() == 0) body();
  }
  template <class T>
  KOKKOS_FUNCTION static void add(T* to, T value) {
    if constexpr (is_serial<Execution>) {
      *to = static_cast<T>(*to + value);
    } else {
      Kokkos::atomic_add(to, value);
    }
  }
  template <class T>
  KOKKOS_FUNCTION static T exchange(T* to, T value) {
    return Kokkos::atomic_exchange(to, value);
  }

 private:
  const Member& member_;
  void* scratch_;
};

/// A functor for Kokkos' reductions, which must know the type of the sum.
template <class T, class Body>
struct Summed {
  static_assert(std::is_arithmetic_v<T>, "Kokkos adds numbers up, on any thread");
  using value_type = T;
  Body body;
  KOKKOS_FUNCTION void operator()(std::size_t i, T& sum) const { body(i, sum); }
};

/// The same for Kokkos' scans.
template <class T, class Body>
struct Scanned {
  static_assert(std::is_arithmetic_v<T>, "Kokkos adds numbers up, on any thread");
  using value_type = T;
  Body body;
  KOKKOS_FUNCTION void operator()(std::size_t i, T& sum, bool final) const { body(i, sum, final); }
};

template <class T>
struct Zeroed {
  T* to;
  KOKKOS_FUNCTION void operator()(std::size_t) const { *to = T{}; }
};

/// Adds 1 for each call.
struct Ones {
  KOKKOS_FUNCTION void operator()(std::size_t /*i*/, std::uint64_t& sum) const { ++sum; }
};

template <class Execution, class Body>
struct Teamed {
  using Team = KokkosTeam<Execution>;
  /// The threads of a team. On the host it has one, so that there are many teams, whose loops vectorise.
  static constexpr int size = is_on_host<Execution> ? 1 : threads_of_device_team;
  /// The level of scratch: the fast memory of a device. On the host both levels are the same memory, but the second one
  /// may be larger.
  static constexpr int level = is_on_host<Execution> ? 1 : 0;
  static constexpr std::size_t alignment = 64;

  Body body;
  std::size_t bytes;
  KOKKOS_FUNCTION void operator()(const typename Team::Member& member) const {
    const int from = level;  // a copy, because devices have no address of a constant
    body(Team(member, member.team_scratch(from).get_shmem_aligned(bytes, alignment)));
  }
};

template <class Execution>
struct KokkosSpaceOn {
  using Team = KokkosTeam<Execution>;
  /// A name such as "kokkos 3.4.1, Serial".
  static std::string_view name();
  static constexpr std::size_t most_scratch = HostSpace::most_scratch;
  static constexpr std::size_t stretch = is_on_host<Execution> ? HostSpace::stretch : 8;
  static constexpr std::size_t team_threads = is_on_host<Execution> ? 1 : threads_of_device_team;
  static constexpr std::size_t teams_at_once = is_on_host<Execution> ? 1 : 128;
  static constexpr std::size_t most_teams = is_on_host<Execution> ? HostSpace::most_teams : 1024;
  /// A single thread gains from a cache. Of many threads, each reads an element only once.
  static constexpr std::size_t elements_in_cache =
      is_serial<Execution> ? HostSpace::elements_in_cache : ~std::size_t{0};

  template <class Body>
  static void for_each(std::size_t count, const Body& body) {
    const auto run = [&] { Kokkos::parallel_for(range(count), body); };
    if constexpr (is_serial<Execution>) {
      run();  // in no version does this touch what threads share
    } else {
      turn().run(run);
    }
  }

  template <class T, class Body>
  static void reduce(std::size_t count, const Body& body, T* sum) {
    turn().run([&] { Kokkos::parallel_reduce(range(count), Summed<T, Body>{body}, ViewOf<T>(sum)); });
  }

  template <class T, class Body>
  static void scan(std::size_t count, const Body& body, T* total) {
    if (count == 0) return for_each(1, Zeroed<T>{total});
    if constexpr (is_on_host<Execution>) {
      T sum{};
      turn().run([&] { Kokkos::parallel_scan(range(count), Scanned<T, Body>{body}, sum); });
      *total = sum;
    } else {
      turn().run([&] { scan_on_device(instance(), count, body, scans(), total); });
    }
  }

  template <class Body>
  static void for_teams(std::size_t count, std::size_t scratch_bytes, const Body& body) {
    using Functor = Teamed<Execution, Body>;
    if (count == 0) return;
    turn().run([&] {
      TeamsOf<Execution> policy(instance(), static_cast<int>(count), Functor::size);
      policy.set_scratch_size(Functor::level, Kokkos::PerTeam(static_cast<int>(scratch_bytes + Functor::alignment)));
      Kokkos::parallel_for(light(policy), Functor{body, scratch_bytes});
    });
  }

  static void move(std::byte* to, const std::byte* from, std::size_t bytes);

  /// Sets the instance on which all kernels of a device run, and takes all memory that they need. Kokkos takes memory
  /// when the first sum is computed. Later this might wait for a stream that the program holds.
  static void set_instance(const Execution& instance);

 private:
  /// It is never destroyed, because Kokkos may have ended by then.
  static Execution& instance_memory() {
    alignas(Execution) static std::byte memory[sizeof(Execution)];
    return *reinterpret_cast<Execution*>(memory);
  }
  static Execution instance() {
    if constexpr (is_on_host<Execution>) {
      return Execution();
    } else {
      return instance_memory();
    }
  }
  static auto range(std::size_t count) { return light(RangeOf<Execution>(instance(), 0, count)); }

  static Scans& scans() {
    static Scans all;
    return all;
  }

  /// A view of a result, in the memory of the execution space.
  template <class Data>
  using ViewOf = Kokkos::View<Data, typename Execution::memory_space,
                              Kokkos::MemoryTraits<static_cast<unsigned>(Kokkos::Unmanaged)>>;
};

template <class Execution>
std::string_view KokkosSpaceOn<Execution>::name() {
  static const std::string text = "kokkos " + std::to_string(KOKKOS_VERSION / 10000) + "." +
                                  std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
                                  std::to_string(KOKKOS_VERSION % 100) + ", " + Execution::name();
  return text;
}

template <class Execution>
void KokkosSpaceOn<Execution>::set_instance(const Execution& instance) {
  using Memory = typename Execution::memory_space;
  new (&instance_memory()) Execution(instance);
  void* const memory = Kokkos::kokkos_malloc<Memory>(sizeof(ScanMemory));
  Kokkos::push_finalize_hook([memory] { Kokkos::kokkos_free<Memory>(memory); });
  scans().memory = static_cast<ScanMemory*>(memory);
  Kokkos::deep_copy(instance, ViewOf<std::byte*>(static_cast<std::byte*>(memory), sizeof(ScanMemory)), std::byte{0});
  reduce(std::size_t{1} << 24, Ones{}, &scans().memory->carry);
  instance.fence("lacuna takes a device");
}

/// A device can't copy between places that overlap. So it copies portions that are no longer than the distance.
template <class Execution>
void KokkosSpaceOn<Execution>::move(std::byte* to, const std::byte* from, std::size_t bytes) {
  if constexpr (is_on_host<Execution>) {
    std::memmove(to, from, bytes);
  } else {
    const bool upwards = to > from;
    const auto distance = static_cast<std::size_t>(upwards ? to - from : from - to);
    const std::size_t piece = distance < bytes ? distance : bytes;
    for (std::size_t done = 0; done < bytes; done += piece) {
      const std::size_t length = bytes - done < piece ? bytes - done : piece;
      const std::size_t at = upwards ? bytes - done - length : done;
      turn().run([&] {
        Kokkos::deep_copy(instance(), ViewOf<std::byte*>(to + at, length), ViewOf<const std::byte*>(from + at, length));
      });
    }
  }
}

#ifdef LACUNA_KERNELS_ON_DEVICE
using KokkosSpace = KokkosSpaceOn<Kokkos::DefaultExecutionSpace>;
#else
using KokkosSpace = KokkosSpaceOn<Kokkos::DefaultHostExecutionSpace>;
#endif

}  // namespace lacuna::kernels
