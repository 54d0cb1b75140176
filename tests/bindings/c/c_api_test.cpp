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
  std::stringstream text;
  for (const char* name : {"lacuna.h", "lacuna_skip.h"}) {
    text << std::ifstream(std::string(LACUNA_SOURCE "/bindings/c/") + name).rdbuf();
  }
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

TEST(CApi, TheLibraryExportsExactlyTheFunctionsOfItsHeadersUnderTheirVersion) {
  const std::string version = "LACUNA_" + std::to_string(LACUNA_API_VERSION);
  std::set<std::string> versioned = {version};  // the node itself
  for (const std::string& name : declared_functions()) versioned.insert(name + "@@" + version);
  EXPECT_GE(versioned.size(), 50u);
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
  EXPECT_EQ(offsetof(lacuna_options, skip), 72u);
  EXPECT_EQ(offsetof(lacuna_counters, messages_received), 40u);
  EXPECT_EQ(sizeof(lacuna_sampler), 24u);
}

TEST(CApi, StructuresOfSkippingBeginWithTheMembersThatTheyHadAtFirst) {
  EXPECT_EQ(offsetof(lacuna_skip, ratio), 8u);
  EXPECT_EQ(offsetof(lacuna_skip, factor), 16u);
  EXPECT_EQ(offsetof(lacuna_skip, scale), 24u);
  EXPECT_EQ(offsetof(lacuna_skip, feedback), 28u);
  EXPECT_EQ(offsetof(lacuna_skip, incomplete), 32u);
  EXPECT_EQ(offsetof(lacuna_skip, gather_steps), 36u);
  EXPECT_EQ(offsetof(lacuna_skip, keep), 40u);
  EXPECT_EQ(offsetof(lacuna_skip, reversed), 44u);
  EXPECT_EQ(offsetof(lacuna_skip, warm_up), 48u);
  EXPECT_EQ(offsetof(lacuna_skip, schedule), 56u);
  EXPECT_EQ(offsetof(lacuna_skip, stages), 64u);
  EXPECT_EQ(offsetof(lacuna_skip, segments), 72u);
  EXPECT_EQ(offsetof(lacuna_skip, segment_count), 80u);
  EXPECT_EQ(offsetof(lacuna_skip, small), 88u);
  EXPECT_EQ(offsetof(lacuna_skip, state), 96u);
  EXPECT_EQ(offsetof(lacuna_skip, importance), 104u);
  EXPECT_EQ(offsetof(lacuna_skip, audit), 112u);
  EXPECT_EQ(offsetof(lacuna_skip, audit_samples), 120u);
  EXPECT_EQ(offsetof(lacuna_skip_stage, steps), 8u);
  EXPECT_EQ(sizeof(lacuna_skip_stage), 16u);
  EXPECT_EQ(offsetof(lacuna_skip_segment, count), 8u);
  EXPECT_EQ(offsetof(lacuna_skip_segment, policy), 16u);
  EXPECT_EQ(offsetof(lacuna_skip_segment, key), 24u);
  EXPECT_EQ(sizeof(lacuna_skip_segment), 32u);
  EXPECT_EQ(offsetof(lacuna_skip_gap, count), 8u);
  EXPECT_EQ(offsetof(lacuna_skip_gap, from), 16u);
  EXPECT_EQ(sizeof(lacuna_skip_gap), 24u);
  EXPECT_EQ(offsetof(lacuna_skip_state_values, sampler), 8u);
  EXPECT_EQ(offsetof(lacuna_skip_state_values, runs), 32u);
  EXPECT_EQ(offsetof(lacuna_skip_state_values, residual), 40u);
  EXPECT_EQ(offsetof(lacuna_skip_state_values, residual_bytes), 48u);
  EXPECT_EQ(offsetof(lacuna_skip_state_values, audit_run), 56u);
  EXPECT_EQ(offsetof(lacuna_skip_state_values, audit_error), 64u);
  EXPECT_EQ(offsetof(lacuna_skip_state_values, audit_cosine), 72u);
  EXPECT_EQ(offsetof(lacuna_skip_report, steps), 8u);
  EXPECT_EQ(offsetof(lacuna_skip_report, dense_rounds), 20u);
  EXPECT_EQ(offsetof(lacuna_skip_report, sent), 24u);
  EXPECT_EQ(offsetof(lacuna_skip_report, lacking), 72u);
  EXPECT_EQ(offsetof(lacuna_skip_importance_options, every), 8u);
  EXPECT_EQ(offsetof(lacuna_skip_importance_options, threshold), 16u);
  EXPECT_EQ(offsetof(lacuna_skip_importance_options, samples), 24u);
  EXPECT_EQ(offsetof(lacuna_segment_importance, key), 8u);
  EXPECT_EQ(offsetof(lacuna_segment_importance, runs), 16u);
  EXPECT_EQ(offsetof(lacuna_segment_importance, count), 24u);
  EXPECT_EQ(offsetof(lacuna_segment_importance, share), 32u);
  EXPECT_EQ(offsetof(lacuna_segment_importance, important), 40u);
  EXPECT_EQ(offsetof(lacuna_segment_importance, measured), 44u);
}

TEST(CApi, DefaultsOfSkippingAreThoseOfTheCore) {
  const lacuna_skip skip = LACUNA_SKIP_INIT;
  const Skip core;
  EXPECT_EQ(skip.ratio, core.ratio);
  EXPECT_EQ(skip.factor, core.factor);
  EXPECT_EQ(skip.scale, static_cast<int>(core.scale));
  EXPECT_EQ(skip.feedback != 0, core.feedback);
  EXPECT_EQ(skip.incomplete != 0, core.incomplete);
  EXPECT_EQ(skip.gather_steps, core.gather_steps);
  EXPECT_EQ(skip.keep != 0, core.keep);
  EXPECT_EQ(skip.reversed != 0, core.reversed);
  EXPECT_EQ(skip.warm_up, core.warm_up);
  EXPECT_EQ(skip.stages, core.schedule.size());
  EXPECT_EQ(skip.segment_count, core.segments.size());
  EXPECT_EQ(skip.small, core.small);
  EXPECT_EQ(skip.state, nullptr);
  EXPECT_EQ(skip.importance, nullptr);
  EXPECT_EQ(skip.audit, core.audit);
  EXPECT_EQ(skip.audit_samples, core.audit_samples);
  const lacuna_skip_importance_options options = LACUNA_SKIP_IMPORTANCE_OPTIONS_INIT;
  const SkipImportance::Options measured;
  EXPECT_EQ(options.every, measured.every);
  EXPECT_EQ(options.threshold, measured.threshold);
  EXPECT_EQ(options.samples, measured.samples);
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
  EXPECT_EQ(LACUNA_SKIP_SHUFFLED, static_cast<int>(SkipMode::Shuffled));
  EXPECT_EQ(LACUNA_SKIP_RENORMALISED, static_cast<int>(SkipScale::Renormalised));
  EXPECT_EQ(LACUNA_SKIP_FACTOR, static_cast<int>(SkipScale::Factor));
  EXPECT_EQ(LACUNA_POLICY_NEVER, static_cast<int>(SkipPolicy::Never));
  EXPECT_EQ(LACUNA_POLICY_AUTOMATIC, static_cast<int>(SkipPolicy::Automatic));
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
