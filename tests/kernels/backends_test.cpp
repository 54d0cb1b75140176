#include "tests/kernels/backends.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <thread>

#include "kernels/entry.hpp"
#include "kernels/processor.hpp"
#include "runtime/config/config.hpp"

namespace lacuna::kernels {
namespace {

/// The levels of x86-64 for which this build has kernels besides the baseline's, the best last.
std::vector<std::string> levels() {
  std::vector<std::string> names;
  for (const KernelsHere& kernels : kernels_here()) {
    if (kernels.name.starts_with("x86-64-v")) names.push_back(kernels.name);
  }
  return names;
}

TEST(Backends, EachHasTheNameByWhichItIsFound) {
  for (const std::string& name : backend_names()) {
    EXPECT_TRUE(backend_to_test(name).name().starts_with(name)) << backend_to_test(name).name();
  }
}

TEST(Backends, AnotherNameIsAnErrorThatSaysWhatIsAllowed) {
  const Status status = backend_named("cuda").status();
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  std::string expected = "no kernels by \"cuda\"; allowed here: host";
  for (const KernelsHere& kernels : kernels_here()) {
    if (kernels.name != "host" && kernels.problem.empty()) expected += ", " + kernels.name;
  }
  EXPECT_EQ(status.message(), expected);
}

TEST(Backends, HostNamesTheBestThatThisProcessorRuns) {
  std::string best = backend_names().front();
  for (const std::string& level : levels()) {
    if (runs(this_processor(), level)) best = level;
  }
  EXPECT_EQ(best_backend().name(), best);
  EXPECT_EQ(*backend_named("host"), &best_backend());
  EXPECT_EQ(better_but_missing(), "");
}

TEST(Backends, AnInstructionSetThatThisProcessorDoesNotRunIsRefused) {
  if (levels().empty()) GTEST_SKIP() << "this build has one set";
  for (const std::string& level : levels()) {
    const auto named = backend_named(level);
    ASSERT_EQ(bool(named), runs(this_processor(), level));
    if (named) continue;
    EXPECT_EQ(named.status().code(), Code::Unsupported);
    EXPECT_TRUE(named.status().message().starts_with("no kernels by " + level +
                                                     ": this processor does not run them; allowed here: host, x86-64"))
        << named.status().message();
  }
}

TEST(Backends, KokkosIsRefusedWithTheWayToGetItWhereItsLibraryIsNot) {
  const auto kokkos = backend_named("kokkos");
  ASSERT_EQ(bool(kokkos), LACUNA_BUILT_KOKKOS == 1);
  if (kokkos) return;
  EXPECT_EQ(kokkos.status().code(), Code::Unsupported);
  EXPECT_NE(kokkos.status().message().find("LACUNA_KOKKOS=ON"), std::string::npos) << kokkos.status().message();
}

/// The entry function of the library that has these kernels. Null if they are a part of the core.
BackendEntry* entry_of(const std::string& name) {
  Dl_info core{};
  EXPECT_NE(::dladdr(reinterpret_cast<void*>(&backend_named), &core), 0);
  const std::string file = name == "kokkos" ? "liblacuna_kokkos.so" : fmt::format("liblacuna_kernels_{}.so", name);
  const std::filesystem::path beside = std::filesystem::canonical(core.dli_fname).parent_path() / file;
  if (!std::filesystem::exists(beside)) return nullptr;
  void* const library = ::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << beside;
  return library == nullptr ? nullptr : reinterpret_cast<BackendEntry*>(::dlsym(library, backend_entry_name));
}

TEST(Backends, ALibraryServesTheCoreOfItsOwnVersionOnly) {
  const std::string says = "it belongs to lacuna ";
  std::size_t libraries = 0;
  for (const std::string& name : backend_names()) {
    const Backend& served = backend_to_test(name);  // by this the core has loaded the library
    BackendEntry* const entry = entry_of(name);
    if (entry == nullptr) continue;
    ++libraries;
    const OpenedBackend refused = entry("");
    EXPECT_EQ(refused.backend, nullptr) << name;
    ASSERT_TRUE(refused.problem != nullptr && std::string(refused.problem).starts_with(says)) << name;
    const std::string version = std::string(refused.problem).substr(says.size());
    for (const std::string& other :
         {version + "0", version + " ", "0" + version, version.substr(0, version.size() - 1), version.substr(1)}) {
      const OpenedBackend opened = entry(other.c_str());
      EXPECT_EQ(opened.backend, nullptr) << name << " for the core of " << other;
      EXPECT_EQ(std::string(opened.problem == nullptr ? "nothing" : opened.problem), says + version);
    }
    EXPECT_EQ(entry(version.c_str()).backend, &served) << name;
  }
  EXPECT_EQ(libraries, backend_names().size() - 1) << "all but the baseline's are libraries";
}

/// Several threads compute by one backend at the same time.
class Concurrent : public EachBackend {};

TEST_P(Concurrent, ThreadsDoNotDisturbEachOther) {
  constexpr std::size_t threads = 4, rounds = 300, count = 2000;
  std::array<std::size_t, threads> wrong{};
  const auto add = [&](std::size_t thread) {
    std::vector<float> a(count), b(count), sum(count);
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < count; ++i) a[i] = static_cast<float>(i + thread), b[i] = static_cast<float>(round);
      backend().reduce(Reduction::Sum, {}, {Dtype::F32, reinterpret_cast<std::byte*>(sum.data()), count},
                       reinterpret_cast<const std::byte*>(a.data()), reinterpret_cast<const std::byte*>(b.data()));
      for (std::size_t i = 0; i < count; ++i) wrong[thread] += sum[i] != static_cast<float>(i + thread + round);
    }
  };
  std::vector<std::thread> running;
  for (std::size_t thread = 0; thread < threads; ++thread) running.emplace_back(add, thread);
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, (std::array<std::size_t, threads>{}));
}

INSTANTIATE_TEST_SUITE_P(, Concurrent, testing::ValuesIn(backend_names()), name_of_backend);

}  // namespace
}  // namespace lacuna::kernels
