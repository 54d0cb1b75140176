#include "runtime/graph/plan.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/phases/left_out.hpp"
#include "algorithms/phases/packing.hpp"
#include "algorithms/phases/sparse_arguments.hpp"
#include "runtime/graph/algorithm.hpp"

namespace lacuna {
namespace {

/// Ways in which the plans of two ranks may differ. The ranks must notice each.
struct Change {
  std::string what;
  std::function<void(Plan&)> make;
};

const Algorithm one = {
    .collective = Collective::Allreduce, .name = "one", .summary = "a test's", .symmetric = true, .build = nullptr};
const Algorithm two = {
    .collective = Collective::Allreduce, .name = "two", .summary = "a test's", .symmetric = true, .build = nullptr};

const Algorithm called_packing = {
    .collective = Collective::Allreduce, .name = "packing", .summary = "a test's", .symmetric = true, .build = nullptr};

const std::vector<Change> changes = {
    {"nothing", [](Plan&) {}},
    {"parts in flight", [](Plan& plan) { plan.in_flight = 3; }},
    {"another part", [](Plan& plan) { plan.parts.push_back({}); }},
    {"the order of parts", [](Plan& plan) { std::swap(plan.parts[0], plan.parts[1]); }},
    {"offset", [](Plan& plan) { ++plan.parts[1].data.offset; }},
    {"count", [](Plan& plan) { ++plan.parts[1].data.count; }},
    {"frame", [](Plan& plan) { plan.parts[1].structure.frame = &packing_frame; }},
    {"another frame", [](Plan& plan) { plan.parts[1].structure.frame = &feedback_frame; }},
    {"a program called like the frame", [](Plan& plan) { plan.parts[1].program = &called_packing; }},
    {"the first parameter", [](Plan& plan) { plan.parts[1].structure.parameters = LeftOut{.rounds = 1}; }},
    {"the last parameter", [](Plan& plan) { plan.parts[1].structure.parameters = LeftOut{.keep = true}; }},
    {"beside", [](Plan& plan) { plan.parts[1].beside = true; }},
    {"waits", [](Plan& plan) { plan.parts[1].waits = true; }},
    {"arguments", [](Plan& plan) { plan.parts[1].arguments = sparse::Arguments{.wanted = 1}; }},
    {"other arguments",
     [](Plan& plan) { plan.parts[1].arguments = sparse::Arguments{.room = std::uint64_t{1} << 31}; }},
    {"draw", [](Plan& plan) { plan.parts[1].draw = 7; }},
    {"program", [](Plan& plan) { plan.parts[1].program = &one; }},
    {"another program", [](Plan& plan) { plan.parts[1].program = &two; }},
    {"number of stretches", [](Plan& plan) { plan.parts[1].stretches = 1; }},
    {"stretches",
     [](Plan& plan) {
       plan.stretches = {{0, 8}};
     }},
    {"where a stretch begins",
     [](Plan& plan) {
       plan.stretches = {{1, 8}};
     }},
    {"how long a stretch is",
     [](Plan& plan) {
       plan.stretches = {{0, 9}};
     }},
};

TEST(PlanDigest, TellsApartAllThatRanksMustHaveAlike) {
  std::vector<std::uint64_t> digests;
  for (const Change& change : changes) {
    Plan plan;
    plan.parts = {{.data = {0, 8}, .draw = 1}, {.data = {8, 8}, .draw = 2}};
    change.make(plan);
    digests.push_back(plan.digest());
    for (std::size_t i = 0; i + 1 < digests.size(); ++i) {
      EXPECT_NE(digests[i], digests.back()) << changes[i].what << " and " << change.what;
    }
  }
}

TEST(PlanDigest, OfAPartThatFollowsTellsApartTheSame) {
  const PartPlan part{.data = {0, 8}};
  PartPlan more = part, other = part;
  more.arguments = sparse::Arguments{.room = 1};
  other.draw = 1;
  EXPECT_EQ(digest_of(part), digest_of(PartPlan{.data = {0, 8}}));
  EXPECT_NE(digest_of(part), digest_of(more));
  EXPECT_NE(digest_of(part), digest_of(other));
}

}  // namespace
}  // namespace lacuna
