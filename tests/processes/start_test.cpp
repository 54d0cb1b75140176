#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <filesystem>
#include <memory>

#include "runtime/job/listeners.hpp"
#include "tests/processes/executed.hpp"

namespace lacuna::test {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

constexpr std::chrono::milliseconds to_start = 60s;
const Words waiting = {LACUNA_WORKER, "size=2", "call=allreduce", "sleep=60000"};

/// Returns where the ranks of a job on a store of 127.0.0.1 listen once they have talked.
std::vector<runtime::SocketAddress> listeners(const Environment& environment) {
  Job ranks({waiting, waiting}, environment);
  std::vector<runtime::SocketAddress> all;
  for (std::size_t rank : {0, 1}) {
    EXPECT_TRUE(ranks[rank].says("call: ok", to_start)) << ranks[rank].output();
    for (auto& one : runtime::listeners_of(ranks[rank].pid())) all.push_back(std::move(one));
  }
  return all;
}

/// Returns a network device that is up and not loopback, or nothing if there is none.
std::string outward_device() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  for (const ifaddrs* one = first; one; one = one->ifa_next) {
    const bool is_up = (one->ifa_flags & IFF_UP) && (one->ifa_flags & IFF_RUNNING) && !(one->ifa_flags & IFF_LOOPBACK);
    if (is_up && one->ifa_addr && one->ifa_addr->sa_family == AF_INET) return one->ifa_name;
  }
  return {};
}

TEST(Start, RanksThatShareMemoryListenNowhere) { EXPECT_EQ(listeners({}).size(), 0u); }

TEST(Start, AJobWhoseStoreIsOnLoopbackListensNowhereElse) {
  const auto all = listeners({{"UCX_TLS", "tcp,self"}});
  EXPECT_GE(all.size(), 2u);  // UCX's sockets of each rank
  for (const auto& one : all) EXPECT_TRUE(one.is_loopback()) << one.to_string();
}

/// Ranks in namespaces of their own still talk, over a port on loopback, and the log says why it is open.
TEST(Start, RanksThatReachNoMemoryOfOthersSayWhyTheyListen) {
  const std::vector<Words> apart = {{"--ipc"}, {"--pid", "--fork", "--kill-child"}, {"--mount"}};
  for (Words namespaces : apart) {
    Words words = {"unshare", "--map-root-user"};
    words.insert(words.end(), namespaces.begin(), namespaces.end());
    const std::string mount = namespaces[0] == "--mount" ? "mount -t tmpfs tmpfs /dev/shm && " : "";
    const std::string worker = std::string("exec ") + LACUNA_WORKER + " size=2 call=allreduce";
    words.insert(words.end(), {"sh", "-c", mount + "echo apart; " + worker});
    Job ranks({words, {"sh", "-c", worker}}, {{"LACUNA_LOG", "info"}});
    const int ended = ranks[0].wait();
    if (!ranks[0].says("apart")) GTEST_SKIP() << "no namespaces: " << ranks[0].output();
    EXPECT_EQ(ended, 0) << ranks[0].output();
    EXPECT_EQ(ranks[1].wait(), 0) << ranks[1].output();
    EXPECT_TRUE(ranks[1].says("UCX listens at a port, because some ranks reach no memory of others"))
        << ranks[1].output();
  }
}

// A program may block a signal in all of its own threads, for instance to take it by sigwait(). Then the signal stays
// with the program.
TEST(Start, NoThreadOfTheLibraryTakesSignals) {
  const Words looks = {LACUNA_WORKER, "size=2",
                       "signals=4"};  // two threads of the watch, one of UCX, and the one that makes progress
  Job ranks({looks, looks}, {{"LACUNA_PROGRESS", "thread"}, {"UCX_TLS", "tcp,self"}});
  for (std::size_t rank : {0, 1}) {
    EXPECT_TRUE(ranks[rank].says("signals: ok", to_start)) << ranks[rank].output();
  }
}

TEST(Start, NetworkDevicesOfTheUsersChoiceAreTaken) {
  const std::string device = outward_device();
  if (device.empty()) GTEST_SKIP() << "this host has the loopback device only";
  bool outward = false;
  for (const auto& one : listeners({{"UCX_NET_DEVICES", device}, {"UCX_TLS", "tcp,self"}}))
    outward |= !one.is_loopback();
  EXPECT_TRUE(outward) << device;
}

TEST(Start, InfoTellsWhereAJobOfThisEnvironmentListens) {
  Executed launched({LACUNA_COMMAND, "info"}, {});
  EXPECT_EQ(launched.wait(), 0);
  EXPECT_TRUE(
      launched.says("listens:                 rank 0 at 127.0.0.1, a free port (lacuna launch); UCX, on every rank, "
                    "nowhere\n"))
      << launched.output();
  Executed here({LACUNA_COMMAND, "info"}, {{"LACUNA_STORE", "127.0.0.1:29400"}, {"UCX_TLS", "posix,self"}});
  EXPECT_TRUE(here.says("listens:                 rank 0 at 127.0.0.1:29400; UCX, on every rank, nowhere\n"))
      << here.output();
  if (outward_device().empty()) return;
  Executed outward({LACUNA_COMMAND, "info"},
                   {{"LACUNA_STORE", "192.0.2.77:29400"}, {"UCX_TCP_PORT_RANGE", "29500-29599"}});
  EXPECT_TRUE(
      outward.says("listens:                 rank 0 at all addresses of its host, port 29400; UCX, on every rank, at "))
      << outward.output();
  EXPECT_TRUE(outward.says(", ports 29500-29599, because the ranks may be on several hosts\n")) << outward.output();
}

TEST(Start, CreditsThatDifferAreRefusedWithBothValuesOnAllRanks) {
  const Words worker = {LACUNA_WORKER, "size=3"},
              other = {"/usr/bin/env", "LACUNA_CREDITS=1M", LACUNA_WORKER, "size=3"};
  Job ranks({worker, other, worker}, {});
  for (std::size_t rank : {0, 1, 2}) {
    EXPECT_EQ(ranks[rank].wait(to_start), 1) << ranks[rank].output();
    EXPECT_TRUE(
        ranks[rank].says("LACUNA_CREDITS differs: ranks 0, 2 have 4M; rank 1 has 1M; it must be the same on all ranks"))
        << ranks[rank].output();
  }
}

TEST(Start, TooFewDescriptorsAreRefusedWithTheNumberThatIsNeeded) {
  for (const char* limit : {"18", "20", "22", "24", "26"}) {
    const Words few = {"sh", "-c", std::string("ulimit -n ") + limit + "; exec " + LACUNA_WORKER + " size=2"};
    Job ranks({few, few}, {{"LACUNA_BOOTSTRAP_TIMEOUT", "2"}});
    for (std::size_t rank : {0, 1}) {
      EXPECT_EQ(ranks[rank].wait(to_start), 1) << ranks[rank].output();
      const std::string said = ranks[rank].output();
      EXPECT_NE(said.find(" file descriptors, "), std::string::npos) << said;
      EXPECT_NE(said.find(std::string("may have ") + limit + " (ulimit -n)"), std::string::npos) << said;
    }
  }
}

/// Starts a command in a mount namespace of its own, with a /dev/shm of this size. There is no board, so that all data
/// pass through what UCX has there.
Executed with_shared_memory(const std::string& size, const std::string& command, Environment environment) {
  environment["LACUNA_BOARD"] = "off";
  const std::string script = "mount -t tmpfs -o size=" + size + " tmpfs /dev/shm && echo mounted && exec " + command;
  return Executed({"unshare", "--map-root-user", "--mount", "sh", "-c", script}, environment);
}

const std::string three_ranks = std::string(LACUNA_COMMAND) + " launch -n 3 -- " + LACUNA_WORKER + " size=3";

TEST(Start, RanksStartWhereSharedMemoryHasLittleRoom) {
  Executed job = with_shared_memory("8m", three_ranks, {});
  const int ended = job.wait();
  if (!job.says("mounted")) GTEST_SKIP() << "no mount namespaces: " << job.output();
  EXPECT_EQ(ended, 0) << job.output();
  EXPECT_EQ(job.output().find("UCX  ERROR"), std::string::npos) << job.output();
}

TEST(Start, ReadOnlySharedMemoryIsLeftOut) {
  Executed job = with_shared_memory("64m,ro", three_ranks, {});
  const int ended = job.wait();
  if (!job.says("mounted")) GTEST_SKIP() << "no mount namespaces: " << job.output();
  EXPECT_EQ(ended, 0) << job.output();
  EXPECT_EQ(job.output().find("UCX  ERROR"), std::string::npos) << job.output();
}

TEST(Start, ReadOnlySharedMemoryThatIsAskedForIsNamed) {
  Executed job = with_shared_memory("64m,ro", three_ranks, {{"UCX_TLS", "posix,self"}});
  const int ended = job.wait();
  if (!job.says("mounted")) GTEST_SKIP() << "no mount namespaces: " << job.output();
  EXPECT_NE(ended, 0);
  if (job.says("transport 'posix' is not available")) GTEST_SKIP() << "this UCX sees by itself that it cannot be";
  EXPECT_TRUE(job.says("/dev/shm cannot be written (Read-only file system)")) << job.output();
}

TEST(Start, ASystemWithoutProcIsRefused) {
  const auto build = std::filesystem::path(LACUNA_COMMAND).parent_path().parent_path();  // the loader asks /proc for it
  const std::string libraries =
      "LD_LIBRARY_PATH=" + build.string() + ":" + (build / "bindings/checkpoint").string() + ":$LD_LIBRARY_PATH ";
  const std::string script = "mount -t tmpfs tmpfs /proc && echo mounted && " + libraries + LACUNA_COMMAND +
                             " launch -n 2 --aggregators 1 -- " + LACUNA_WORKER + " size=2 call=allreduce";
  Executed job({"unshare", "--map-root-user", "--mount", "sh", "-c", script}, {});
  const int ended = job.wait();
  if (!job.says("mounted")) GTEST_SKIP() << "no mount namespaces: " << job.output();
  EXPECT_EQ(ended, 1) << job.output();
  EXPECT_TRUE(job.says("UCX needs /proc, and /proc/self/stat can't be read")) << job.output();
}

/// Each of the jobs would find room for its ranks if it were alone.
TEST(Start, JobsThatTakeTheSameRoomOfSharedMemoryAtTheSameTimeAllStart) {
  const std::string six = "sh -c 'for job in 1 2 3 4 5 6; do " + std::string(LACUNA_COMMAND) + " launch -n 4 -- " +
                          LACUNA_WORKER + " size=4 || echo job $job has not started & done; wait'";
  Executed jobs = with_shared_memory("64m", six, {});
  jobs.wait();
  if (!jobs.says("mounted")) GTEST_SKIP() << "no mount namespaces: " << jobs.output();
  EXPECT_EQ(jobs.output().find("has not started"), std::string::npos) << jobs.output();
  EXPECT_EQ(jobs.output().find("UCX  ERROR"), std::string::npos)
      << "none counts on room that another takes: " << jobs.output();
}

/// A limit of 50 KB for files ends a rank while it writes its first large segment.
TEST(Start, RanksThatDieWhileTheyMakeTheirSegmentsLeaveNothingInSharedMemory) {
  const std::string dying =
      std::string(LACUNA_COMMAND) + " launch -n 3 -- sh -c \"ulimit -f 100; exec " + LACUNA_WORKER + " size=3\"";
  Executed job = with_shared_memory("64m", "sh -c '" + dying + "; find /dev/shm -mindepth 1; echo looked'", {});
  job.wait();
  if (!job.says("mounted")) GTEST_SKIP() << "no mount namespaces: " << job.output();
  EXPECT_TRUE(job.says("was killed by signal 25")) << job.output();
  EXPECT_TRUE(job.says("looked")) << job.output();
  EXPECT_EQ(job.output().find("/dev/shm/"), std::string::npos) << job.output();
}

TEST(Start, KillsAtAnyMomentOfTheStartLeaveNothingInSharedMemory) {
  const std::string job = std::string(LACUNA_COMMAND) +
                          " launch -n 3 -- sh -c \"(sleep 0.0$i; kill -9 \\$\\$) & exec " + LACUNA_WORKER + " size=3\"";
  const std::string kills = "for i in 0 1 2 3 4 5 6 7 8 9; do for j in 1 2; do " + job + "; done; done";
  Executed jobs = with_shared_memory("64m", "sh -c '" + kills + "; find /dev/shm -mindepth 1; echo looked'", {});
  jobs.wait();
  if (!jobs.says("mounted")) GTEST_SKIP() << "no mount namespaces: " << jobs.output();
  EXPECT_TRUE(jobs.says("was killed by signal 9")) << jobs.output();
  EXPECT_TRUE(jobs.says("looked")) << jobs.output();
  EXPECT_EQ(jobs.output().find("/dev/shm/"), std::string::npos) << jobs.output();
}

TEST(Start, TooLittleSharedMemoryIsNamedWithWhatIsNeeded) {
  Executed job = with_shared_memory("8m", three_ranks, {{"UCX_TLS", "posix,self"}});
  const int ended = job.wait();
  if (!job.says("mounted")) GTEST_SKIP() << "no mount namespaces: " << job.output();
  EXPECT_NE(ended, 0);
  if (job.says("transport 'posix' is not available")) GTEST_SKIP() << "this UCX sees by itself that it cannot be";
  EXPECT_TRUE(job.says("/dev/shm has ")) << job.output();
  EXPECT_TRUE(job.says(" MB free of 8.4 MB, and POSIX shared memory needs 4.3 MB of it for each of 3 ranks"))
      << job.output();
}

}  // namespace
}  // namespace lacuna::test
