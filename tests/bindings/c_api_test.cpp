#include <gtest/gtest.h>

#include <cstddef>
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

/// The first words of a command's lines.
std::set<std::string> first_words(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  std::set<std::string> words;
  char line[1024];
  while (std::fgets(line, sizeof(line), pipe)) words.insert(std::string(line).substr(0, std::string(line).find(' ')));
  EXPECT_EQ(::pclose(pipe), 0);
  return words;
}

TEST(CApi, TheLibraryExportsExactlyTheFunctionsOfItsHeaderUnderTheirVersion) {
  const std::string version = "LACUNA_" + std::to_string(LACUNA_API_VERSION);
  std::set<std::string> versioned = {version};  // the node itself
  for (const std::string& name : declared_functions()) versioned.insert(name + "@@" + version);
  EXPECT_GE(versioned.size(), 40u);
  EXPECT_EQ(first_words("nm --dynamic --defined-only --format=posix '" LACUNA_C_LIBRARY "'"), versioned);
}

TEST(CApi, TheLibrarysNameHasTheVersionOfItsHeader) {
  const std::string name = "[liblacuna_c.so." + std::to_string(LACUNA_API_VERSION) + "]\n";
  EXPECT_EQ(first_words("readelf --dynamic --wide '" LACUNA_C_LIBRARY "' | sed -n 's/.*Library soname: //p'"),
            std::set<std::string>{name});
}

TEST(CApi, StructuresBeginWithTheMembersOfVersion1) {
  static_assert(sizeof(void*) == 8);
  EXPECT_EQ(offsetof(lacuna_world_options, rank), 8u);
  EXPECT_EQ(offsetof(lacuna_world_options, world_size), 12u);
  EXPECT_EQ(offsetof(lacuna_world_options, store), 16u);
  EXPECT_EQ(offsetof(lacuna_world_options, key), 24u);
  EXPECT_EQ(offsetof(lacuna_world_options, progress), 32u);
  EXPECT_EQ(offsetof(lacuna_buffer, data), 8u);
  EXPECT_EQ(offsetof(lacuna_buffer, count), 16u);
  EXPECT_EQ(offsetof(lacuna_buffer, dtype), 24u);
  EXPECT_EQ(offsetof(lacuna_buffer, memory), 28u);
  EXPECT_EQ(offsetof(lacuna_buffer, device), 32u);
  EXPECT_EQ(offsetof(lacuna_buffer, stream), 40u);
  EXPECT_EQ(offsetof(lacuna_blocks, counts), 8u);
  EXPECT_EQ(offsetof(lacuna_blocks, offsets), 16u);
  EXPECT_EQ(offsetof(lacuna_blocks, received), 24u);
  EXPECT_EQ(offsetof(lacuna_options, algorithm), 8u);
  EXPECT_EQ(offsetof(lacuna_options, skip_steps), 16u);
  EXPECT_EQ(offsetof(lacuna_options, skip_mode), 20u);
  EXPECT_EQ(offsetof(lacuna_options, sampler), 24u);
  EXPECT_EQ(offsetof(lacuna_options, priority), 32u);
  EXPECT_EQ(offsetof(lacuna_options, deadline), 40u);
  EXPECT_EQ(offsetof(lacuna_options, notify), 48u);
  EXPECT_EQ(offsetof(lacuna_options, token), 56u);
  EXPECT_EQ(offsetof(lacuna_options, prepare), 64u);
  EXPECT_EQ(offsetof(lacuna_counters, messages_received), 40u);
  EXPECT_EQ(sizeof(lacuna_sampler), 24u);
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
