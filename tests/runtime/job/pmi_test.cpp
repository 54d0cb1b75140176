#include "runtime/job/pmi.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

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

const std::string known = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                  space = "cmd=my_kvsname kvsname=kvs_7_0\n", put = "cmd=put_result rc=0 msg=success\n",
                  all = "cmd=barrier_out\n", got = "cmd=get_result rc=0 msg=success value=the-text\n",
                  ended = "cmd=finalize_ack\n";

TEST(Pmi, Rank0PutsATextThatAllRanksGet) {
  FakeLauncher launcher({known, space, put, all, got, ended});
  const auto told = share_by_pmi(launcher.descriptor(), 0, "the-text");
  ASSERT_TRUE(told) << told.status().to_string();
  EXPECT_EQ(*told, "the-text");
  EXPECT_EQ(launcher.asked(),
            (std::vector<std::string>{"cmd=init pmi_version=1 pmi_subversion=1", "cmd=get_my_kvsname",
                                      "cmd=put kvsname=kvs_7_0 key=lacuna-store value=the-text", "cmd=barrier_in",
                                      "cmd=get kvsname=kvs_7_0 key=lacuna-store", "cmd=finalize"}));
}

TEST(Pmi, OtherRanksPutNothing) {
  FakeLauncher launcher({known, space, all, got, ended});
  const auto told = share_by_pmi(launcher.descriptor(), 3, "");
  ASSERT_TRUE(told) << told.status().to_string();
  EXPECT_EQ(*told, "the-text");
}

TEST(Pmi, AnswersThatDoNotFitAreErrors) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{}, "the launcher does not speak PMI-1 over PMI_FD: "},
      {{"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n"}, "to \"cmd=init pmi_version=1"},
      {{known, "cmd=something\n"}, "the launcher answers \"cmd=something\" to \"cmd=get_my_kvsname\""},
      {{known, space, all, "cmd=get_result rc=-1 msg=key_lacuna-store_not_found\n"}, "answers \"cmd=get_result rc=-1"},
      {{known, space}, "the launcher does not speak PMI-1 over PMI_FD: "}};
  for (const auto& [answers, text] : wrong) {
    FakeLauncher launcher(answers);
    const auto told = share_by_pmi(launcher.descriptor(), 1, "");
    ASSERT_FALSE(told);
    EXPECT_EQ(told.status().code(), Code::Transport);
    expect_contains(told.status().to_string(), text);
  }
}

}  // namespace
}  // namespace lacuna::runtime
