#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "algorithms/skip/skip.hpp"
#include "bindings/c/interface.hpp"
#include "bindings/c/lacuna.h"
#include "bindings/c/lacuna_skip.h"
#include "bindings/cpp/lacuna.hpp"
#include "tests/bindings/c/c_calls.h"

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

TEST(CApi, IsOfVersion0UntilTheFirstReleaseIsPublished) {
  EXPECT_EQ(LACUNA_API_VERSION, 0);
  std::ifstream page(LACUNA_SOURCE "/docs/c_api.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  EXPECT_NE(text.find("The version of the interface is " + std::to_string(LACUNA_API_VERSION)), std::string::npos);
}

TEST(CApi, StructuresBeginWithTheMembersThatVersion1WillKeep) {
  static_assert(sizeof(void*) == 8);
  EXPECT_EQ(offsetof(lacuna_world_options, rank), 8u);
  EXPECT_EQ(offsetof(lacuna_world_options, world_size), 12u);
  EXPECT_EQ(offsetof(lacuna_world_options, store), 16u);
  EXPECT_EQ(offsetof(lacuna_world_options, key), 24u);
  EXPECT_EQ(offsetof(lacuna_world_options, progress), 32u);
  EXPECT_EQ(offsetof(lacuna_world_options, broadcast), 40u);
  EXPECT_EQ(offsetof(lacuna_buffer, data), 8u);
  EXPECT_EQ(offsetof(lacuna_buffer, count), 16u);
  EXPECT_EQ(offsetof(lacuna_buffer, dtype), 24u);
  EXPECT_EQ(offsetof(lacuna_buffer, memory), 28u);
  EXPECT_EQ(offsetof(lacuna_buffer, device), 32u);
  EXPECT_EQ(offsetof(lacuna_buffer, stream), 40u);
  EXPECT_EQ(sizeof(lacuna_buffer), 48u);
  EXPECT_EQ(offsetof(lacuna_blocks, counts), 8u);
  EXPECT_EQ(offsetof(lacuna_blocks, offsets), 16u);
  EXPECT_EQ(offsetof(lacuna_blocks, received), 24u);
  EXPECT_EQ(offsetof(lacuna_entries, places), 8u);
  EXPECT_EQ(offsetof(lacuna_entries, length), 16u);
  EXPECT_EQ(offsetof(lacuna_entries, found), 24u);
  EXPECT_EQ(offsetof(lacuna_call, collective), 8u);
  EXPECT_EQ(offsetof(lacuna_call, reduction), 12u);
  EXPECT_EQ(offsetof(lacuna_call, root), 16u);
  EXPECT_EQ(offsetof(lacuna_call, input), 24u);
  EXPECT_EQ(offsetof(lacuna_call, output), 32u);
  EXPECT_EQ(offsetof(lacuna_call, input_blocks), 40u);
  EXPECT_EQ(offsetof(lacuna_call, output_blocks), 48u);
  EXPECT_EQ(offsetof(lacuna_call, input_entries), 56u);
  EXPECT_EQ(offsetof(lacuna_call, output_entries), 64u);
  EXPECT_EQ(offsetof(lacuna_options, algorithm), 8u);
  EXPECT_EQ(offsetof(lacuna_options, method), 16u);
  EXPECT_EQ(offsetof(lacuna_options, state), 24u);
  EXPECT_EQ(offsetof(lacuna_options, sampler), 32u);
  EXPECT_EQ(offsetof(lacuna_options, priority), 40u);
  EXPECT_EQ(offsetof(lacuna_options, deadline), 48u);
  EXPECT_EQ(offsetof(lacuna_options, notify), 56u);
  EXPECT_EQ(offsetof(lacuna_options, token), 64u);
  EXPECT_EQ(offsetof(lacuna_options, prepare), 72u);
  EXPECT_EQ(offsetof(lacuna_counters, messages_received), 40u);
  EXPECT_EQ(sizeof(lacuna_sampler), 24u);
}

TEST(CApi, StructuresOfMethodsBeginWithTheMembersThatVersion1WillKeep) {
  EXPECT_EQ(offsetof(lacuna_state_values, sampler), 8u);
  EXPECT_EQ(offsetof(lacuna_state_values, runs), 32u);
  EXPECT_EQ(offsetof(lacuna_state_values, arrays), 40u);
  EXPECT_EQ(offsetof(lacuna_state_array, name), 8u);
  EXPECT_EQ(offsetof(lacuna_state_array, data), 16u);
  EXPECT_EQ(offsetof(lacuna_state_array, count), 24u);
  EXPECT_EQ(offsetof(lacuna_state_array, dtype), 32u);
  EXPECT_EQ(offsetof(lacuna_state_array, own), 36u);
  EXPECT_EQ(offsetof(lacuna_report, rounds), 8u);
  EXPECT_EQ(offsetof(lacuna_report, dense_rounds), 12u);
  EXPECT_EQ(offsetof(lacuna_report, sent), 16u);
  EXPECT_EQ(offsetof(lacuna_report, dense_sent), 24u);
  EXPECT_EQ(offsetof(lacuna_report, received), 32u);
  EXPECT_EQ(offsetof(lacuna_report, dense_received), 40u);
  EXPECT_EQ(offsetof(lacuna_report, contributions), 48u);
  EXPECT_EQ(offsetof(lacuna_report, dense_contributions), 56u);
  EXPECT_EQ(offsetof(lacuna_report, lacking), 64u);
  EXPECT_EQ(offsetof(lacuna_gap, count), 8u);
  EXPECT_EQ(offsetof(lacuna_gap, from), 16u);
  EXPECT_EQ(sizeof(lacuna_gap), 24u);
}

TEST(CApi, RowsOfListsBeginWithTheMembersThatVersion1WillKeep) {
  EXPECT_EQ(offsetof(lacuna_collective_row, name), 8u);
  EXPECT_EQ(offsetof(lacuna_collective_row, collective), 16u);
  EXPECT_EQ(offsetof(lacuna_collective_row, input), 20u);
  EXPECT_EQ(offsetof(lacuna_collective_row, output), 24u);
  EXPECT_EQ(offsetof(lacuna_collective_row, input_at_root), 28u);
  EXPECT_EQ(offsetof(lacuna_collective_row, output_at_root), 32u);
  EXPECT_EQ(offsetof(lacuna_collective_row, reduces), 36u);
  EXPECT_EQ(offsetof(lacuna_collective_row, averages), 40u);
  EXPECT_EQ(offsetof(lacuna_collective_row, lengths), 44u);
  EXPECT_EQ(offsetof(lacuna_algorithm_row, name), 8u);
  EXPECT_EQ(offsetof(lacuna_algorithm_row, collective), 16u);
  EXPECT_EQ(offsetof(lacuna_algorithm_row, method), 24u);
  EXPECT_EQ(offsetof(lacuna_algorithm_row, summary), 32u);
  EXPECT_EQ(offsetof(lacuna_method_row, summary), 16u);
  EXPECT_EQ(offsetof(lacuna_method_row, takes_entries), 24u);
  EXPECT_EQ(offsetof(lacuna_option_row, type), 16u);
  EXPECT_EQ(offsetof(lacuna_option_row, initial), 24u);
  EXPECT_EQ(offsetof(lacuna_option_row, least), 32u);
  EXPECT_EQ(offsetof(lacuna_option_row, most), 40u);
  EXPECT_EQ(offsetof(lacuna_option_row, choices), 48u);
  EXPECT_EQ(offsetof(lacuna_option_row, allowed), 56u);
  EXPECT_EQ(offsetof(lacuna_option_row, help), 64u);
  EXPECT_EQ(offsetof(lacuna_measure_row, unit), 16u);
  EXPECT_EQ(offsetof(lacuna_measure_row, adds_up), 24u);
  EXPECT_EQ(offsetof(lacuna_measure_row, equal_on_ranks), 28u);
  EXPECT_EQ(offsetof(lacuna_measure_row, help), 32u);
}

TEST(CApi, StructuresOfSkippingBeginWithTheMembersThatVersion1WillKeep) {
  EXPECT_EQ(offsetof(lacuna_skip_segment, count), 8u);
  EXPECT_EQ(offsetof(lacuna_skip_segment, policy), 16u);
  EXPECT_EQ(sizeof(lacuna_skip_segment), 24u);
  EXPECT_EQ(offsetof(lacuna_segment_importance, segment), 8u);
  EXPECT_EQ(offsetof(lacuna_segment_importance, count), 16u);
  EXPECT_EQ(offsetof(lacuna_segment_importance, share), 24u);
  EXPECT_EQ(offsetof(lacuna_segment_importance, important), 32u);
  EXPECT_EQ(offsetof(lacuna_segment_importance, measured), 36u);
}

TEST(CApi, DefaultsOfSkippingAreThoseOfTheCore) {
  lacuna_method *plain = nullptr, *segmented = nullptr;
  ASSERT_EQ(lacuna_method_create("skip", nullptr, &plain), LACUNA_OK) << lacuna_last_error();
  ASSERT_EQ(lacuna_skip_create(nullptr, nullptr, 0, &segmented), LACUNA_OK) << lacuna_last_error();
  for (const lacuna_method* method : {plain, segmented}) {
    EXPECT_EQ(method->options.text(), skip({}).text());
    EXPECT_EQ(method->options.digest(), skip({}).digest());
    EXPECT_TRUE(method->options.as<Skip>().segments.empty());
  }
  lacuna_method_free(plain);
  lacuna_method_free(segmented);
}

TEST(CApi, AMethodIsThatOfTheCore) {
  const lacuna_skip_segment segments[] = {{0, 6, LACUNA_POLICY_NEVER}, {6, 4, LACUNA_POLICY_AUTOMATIC}};
  const char* text =
      "steps=2,mode=shuffled,scale=factor,factor=0.5,warm_up=3,schedule=4:1/6:0,importance_every=7,"
      "importance_samples=9";
  lacuna_method* method = nullptr;
  ASSERT_EQ(lacuna_skip_create(text, segments, 2, &method), LACUNA_OK) << lacuna_last_error();
  const Skip& made = method->options.as<Skip>();
  EXPECT_EQ(method->options.method(), &skip_method);
  EXPECT_EQ(method->options.text(), std::string("skip:") + text);
  EXPECT_EQ(made.steps, 2);
  EXPECT_EQ(made.mode, SkipMode::Shuffled);
  EXPECT_EQ(made.scale, SkipScale::Factor);
  EXPECT_EQ(made.factor, 0.5);
  EXPECT_EQ(made.warm_up, 3u);
  ASSERT_EQ(made.schedule.size(), 2u);
  EXPECT_EQ(made.schedule[0].from_run, 4u);
  EXPECT_EQ(made.schedule[0].steps, 1);
  EXPECT_EQ(made.schedule[1].from_run, 6u);
  ASSERT_EQ(made.segments.size(), 2u);
  EXPECT_EQ(made.segments[0].policy, SkipPolicy::Never);
  EXPECT_EQ(made.segments[1].offset, 6u);
  EXPECT_EQ(made.segments[1].count, 4u);
  EXPECT_EQ(made.segments[1].policy, SkipPolicy::Automatic);
  EXPECT_EQ(made.importance_every, 7u);
  EXPECT_EQ(made.importance_samples, 9u);
  lacuna_method_free(method);
}

TEST(CApi, NumbersAreThoseOfTheCoresEnumerations) {
  EXPECT_EQ(LACUNA_INTERNAL, static_cast<int>(Code::Internal));
  EXPECT_EQ(LACUNA_PEER_FAILED, static_cast<int>(Code::PeerFailed));
  EXPECT_EQ(LACUNA_MISMATCH, static_cast<int>(Code::Mismatch));
  EXPECT_EQ(LACUNA_PROD, static_cast<int>(Reduction::Prod));
  EXPECT_EQ(LACUNA_OWN, static_cast<int>(Reduction::Own));
  EXPECT_EQ(LACUNA_MEMORY_CUDA_HOST, static_cast<int>(MemoryKind::CudaHost));
  EXPECT_EQ(LACUNA_POLICY_NEVER, static_cast<int>(SkipPolicy::Never));
  EXPECT_EQ(LACUNA_POLICY_AUTOMATIC, static_cast<int>(SkipPolicy::Automatic));
  EXPECT_EQ(LACUNA_LOW, static_cast<int>(Priority::Low));
  EXPECT_EQ(LACUNA_THREAD, static_cast<int>(Progress::Thread));
}

TEST(CApi, ElementTypesHaveTheNumbersOfTheCoresList) {
  const int numbers[] = {
      LACUNA_F32,         LACUNA_F64,         LACUNA_BF16,        LACUNA_F16,      LACUNA_I32,
      LACUNA_I64,         LACUNA_U8,          LACUNA_I8,          LACUNA_I16,      LACUNA_U16,
      LACUNA_U32,         LACUNA_U64,         LACUNA_C64,         LACUNA_C128,     LACUNA_LOCATED_F32,
      LACUNA_LOCATED_F64, LACUNA_LOCATED_I32, LACUNA_LOCATED_I64, LACUNA_BYTES_1,  LACUNA_BYTES_2,
      LACUNA_BYTES_4,     LACUNA_BYTES_8,     LACUNA_BYTES_16,    LACUNA_BYTES_32, LACUNA_BYTES_64};
  ASSERT_EQ(std::size(numbers), all_dtypes.size());
  for (std::size_t i = 0; i < all_dtypes.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int>(all_dtypes[i])) << i;
  EXPECT_EQ(sizeof(lacuna_located_f32), size_of(Dtype::LocatedF32));
  EXPECT_EQ(offsetof(lacuna_located_f32, index), offsetof(Located<float>, index));
  EXPECT_EQ(sizeof(lacuna_located_i64), size_of(Dtype::LocatedI64));
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
  EXPECT_EQ(lacuna_barrier(communicator), LACUNA_OK);
  EXPECT_STREQ(lacuna_last_error(), "request is null");
  lacuna_communicator_free(communicator);
}

TEST(CApi, ARequestMayOutliveItsCommunicatorsHandle) {
  lacuna_communicator* communicator = nullptr;
  ASSERT_EQ(lacuna_join(nullptr, &communicator), LACUNA_OK);
  lacuna_request* request = nullptr;
  ASSERT_EQ(execute_barrier(communicator, nullptr, &request), LACUNA_OK);
  lacuna_communicator_free(communicator);
  EXPECT_EQ(lacuna_wait(request, -1), LACUNA_OK);
  lacuna_request_free(request);
}

}  // namespace
}  // namespace lacuna
