#include "runtime/job/pmi.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "runtime/job/id_text.hpp"
#include "tests/runtime/job/bootstrap_job.hpp"

namespace lacuna::runtime {
namespace {

/// A launcher that gives these answers, one to each line, and notes what it is asked.
class FakeLauncher {
 public:
  explicit FakeLauncher(std::vector<std::string> answers) : answers_(std::move(answers)) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    descriptor_ = ends[0];
    thread_ = std::thread([this, own = ends[1]] { serve(own); });
  }
  ~FakeLauncher() {
    ::close(descriptor_);
    if (thread_.joinable()) thread_.join();
  }

  int descriptor() const { return descriptor_; }
  const std::vector<std::string>& asked() {
    thread_.join();
    return asked_;
  }

 private:
  void serve(int own) {
    for (const std::string& answer : answers_) {
      std::string line;
      for (char one = 0; ::read(own, &one, 1) == 1 && one != '\n';) line += one;
      asked_.push_back(line);
      for (char one : answer) EXPECT_EQ(::write(own, &one, 1), 1);  // answers come in pieces
    }
    ::close(own);
  }

  std::vector<std::string> answers_, asked_;
  int descriptor_ = -1;
  std::thread thread_;
};

UniqueId id_of(unsigned char byte) {
  UniqueId id;
  id.bytes.fill(std::byte{byte});
  return id;
}

const std::string secret = text_of(id_of(0xa7));
const std::string known = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                  space = "cmd=my_kvsname kvsname=kvs_7_0\n", put = "cmd=put_result rc=0 msg=success\n",
                  all = "cmd=barrier_out\n", got = "cmd=get_result rc=0 msg=success value=" + secret + "\n",
                  ended = "cmd=finalize_ack\n";

/// Shares an id as this rank, so that the answers are needed to the last one. Returns the error.
Status share_with(FakeLauncher& launcher, Rank rank, UniqueId& id) {
  Pmi pmi(launcher.descriptor());
  return pmi.share(rank, id, Clock::now() + std::chrono::seconds(5));
}

TEST(Pmi, Rank0PutsAnIdThatAllRanksGet) {
  FakeLauncher launcher({known, space, put, all, ended});
  UniqueId id = id_of(0xa7);
  EXPECT_EQ(share_with(launcher, 0, id).to_string(), "ok");
  EXPECT_EQ(launcher.asked(), (std::vector<std::string>{"cmd=init pmi_version=1 pmi_subversion=1", "cmd=get_my_kvsname",
                                                        "cmd=put kvsname=kvs_7_0 key=lacuna-0 value=" + secret,
                                                        "cmd=barrier_in", "cmd=finalize"}));
}

TEST(Pmi, OtherRanksGetIt) {
  FakeLauncher launcher({known, space, all, got, ended});
  UniqueId id;
  EXPECT_EQ(share_with(launcher, 3, id).to_string(), "ok");
  EXPECT_EQ(id, id_of(0xa7));
}

TEST(Pmi, EachTimeAnotherNameIsUsedInTheSameConversation) {
  FakeLauncher launcher({known, space, all, got, all, got, ended});
  {
    Pmi pmi(launcher.descriptor());
    for (int i = 0; i < 2; ++i) {
      UniqueId id;
      EXPECT_TRUE(pmi.share(1, id, Clock::now() + std::chrono::seconds(5)));
    }
  }
  EXPECT_EQ(launcher.asked(),
            (std::vector<std::string>{"cmd=init pmi_version=1 pmi_subversion=1", "cmd=get_my_kvsname", "cmd=barrier_in",
                                      "cmd=get kvsname=kvs_7_0 key=lacuna-0", "cmd=barrier_in",
                                      "cmd=get kvsname=kvs_7_0 key=lacuna-1", "cmd=finalize"}));
}

TEST(Pmi, AnswersThatDoNotFitAreErrors) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{}, "the launcher does not speak PMI-1 over PMI_FD: "},
      {{"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n"},
       "the launcher answers \"response_to_init\" with rc=-1 () to \"init\" of PMI-1"},
      {{known, "cmd=something\n"}, "the launcher answers \"something\" with rc=0 () to \"get_my_kvsname\" of PMI-1"},
      {{known, "cmd=my_kvsname\n"}, "the launcher names no kvsname by PMI-1"},
      {{known, space, all, "cmd=get_result rc=-1 msg=key_lacuna-0_not_found\n"}, "rc=-1 (key_lacuna-0_not_found)"},
      {{known, space, all, "cmd=get_result rc=0 value=hello\n"}, "PMI-1 brings no unique id of lacuna from rank 0"},
      {{known, space}, "the launcher does not speak PMI-1 over PMI_FD: "}};
  for (const auto& [answers, text] : wrong) {
    FakeLauncher launcher(answers);
    UniqueId id;
    const Status shared = share_with(launcher, 1, id);
    EXPECT_EQ(shared.code(), Code::Transport);
    expect_contains(shared.to_string(), text);
  }
}

TEST(Pmi, AnIdThatCantBePutKeepsNobodyWaitingAndIsNotInTheError) {
  FakeLauncher launcher({known, space, "cmd=put_result rc=-1 msg=value_too_long value=" + secret + "\n", all});
  UniqueId id = id_of(0xa7);
  const Status shared = share_with(launcher, 0, id);
  EXPECT_EQ(shared.to_string(),
            "transport error: the launcher answers \"put_result\" with rc=-1 (value_too_long) to \"put\" of PMI-1");
  EXPECT_EQ(launcher.asked().back(), "cmd=barrier_in");
}

TEST(Pmi, TheDeadlineHolds) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const Fd own(ends[0]), other(ends[1]);
  Pmi pmi(own.get());
  UniqueId id;
  const Status shared = pmi.share(1, id, Clock::now() + std::chrono::milliseconds(50));
  EXPECT_EQ(shared.code(), Code::TimedOut);
  expect_contains(shared.to_string(), "not all ranks join, or it has stopped");
}

}  // namespace
}  // namespace lacuna::runtime
