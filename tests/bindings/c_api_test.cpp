#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "bindings/c/lacuna.h"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna {
namespace {

std::set<std::string> declared_functions() {
  std::ifstream file(LACUNA_SOURCE "/bindings/c/lacuna.h");
  std::stringstream text;
  text << file.rdbuf();
  const std::string header = text.str();
  const std::regex declaration(R"(LACUNA_EXPORT [^(;]*?(lacuna_\w+)\()");
  std::set<std::string> names;
  for (std::sregex_iterator match(header.begin(), header.end(), declaration), none; match != none; ++match) {
    names.insert((*match)[1]);
  }
  return names;
}

std::set<std::string> exported_symbols() {
  FILE* pipe = ::popen("nm --dynamic --defined-only --format=posix '" LACUNA_C_LIBRARY "'", "r");
  std::set<std::string> names;
  char line[1024];
  while (std::fgets(line, sizeof(line), pipe)) names.insert(std::string(line).substr(0, std::string(line).find(' ')));
  EXPECT_EQ(::pclose(pipe), 0);
  return names;
}

TEST(CApi, TheLibraryExportsExactlyTheFunctionsOfItsHeader) {
  const std::set<std::string> declared = declared_functions();
  EXPECT_GE(declared.size(), 20u);
  EXPECT_EQ(exported_symbols(), declared);
}

TEST(CApi, NumbersAreThoseOfTheCoresEnumerations) {
  EXPECT_EQ(LACUNA_INTERNAL, static_cast<int>(Code::Internal));
  EXPECT_EQ(LACUNA_PEER_FAILED, static_cast<int>(Code::PeerFailed));
  EXPECT_EQ(LACUNA_MISMATCH, static_cast<int>(Code::Mismatch));
  EXPECT_EQ(LACUNA_U8, static_cast<int>(Dtype::U8));
  EXPECT_EQ(LACUNA_BF16, static_cast<int>(Dtype::BF16));
  EXPECT_EQ(LACUNA_PROD, static_cast<int>(Reduction::Prod));
  EXPECT_EQ(LACUNA_CUDA_MANAGED, static_cast<int>(MemoryKind::CudaManaged));
  EXPECT_EQ(LACUNA_SKIP_RANDOM, static_cast<int>(SkipMode::Random));
  EXPECT_EQ(LACUNA_LOW, static_cast<int>(Priority::Low));
  EXPECT_EQ(LACUNA_THREAD, static_cast<int>(Progress::Thread));
}

TEST(CApi, TheLastErrorIsTheThreadsOwn) {
  EXPECT_EQ(lacuna_test(nullptr, nullptr), LACUNA_INVALID_ARGUMENT);
  const std::string mine = lacuna_last_error();
  std::string theirs = "not asked";
  std::thread([&] { theirs = lacuna_last_error(); }).join();
  EXPECT_EQ(mine, "request is null");
  EXPECT_EQ(theirs, "");
}

TEST(CApi, TheLastErrorStaysWhileCallsSucceed) {
  lacuna_communicator* communicator = nullptr;
  ASSERT_EQ(lacuna_join(nullptr, &communicator), LACUNA_OK);
  EXPECT_EQ(lacuna_test(nullptr, nullptr), LACUNA_INVALID_ARGUMENT);
  EXPECT_EQ(lacuna_barrier(communicator, nullptr, nullptr), LACUNA_OK);
  EXPECT_STREQ(lacuna_last_error(), "request is null");
  lacuna_communicator_free(communicator);
}

TEST(CApi, ARequestMayOutliveItsCommunicatorsHandle) {
  lacuna_communicator* communicator = nullptr;
  ASSERT_EQ(lacuna_join(nullptr, &communicator), LACUNA_OK);
  lacuna_request* request = nullptr;
  ASSERT_EQ(lacuna_barrier(communicator, nullptr, &request), LACUNA_OK);
  lacuna_communicator_free(communicator);
  EXPECT_EQ(lacuna_wait(request, -1), LACUNA_OK);
  lacuna_request_free(request);
}

}  // namespace
}  // namespace lacuna
