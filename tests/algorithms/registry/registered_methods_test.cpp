#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/phases/left_out.hpp"
#include "algorithms/registry/registry.hpp"
#include "runtime/method/method.hpp"
#include "tests/support/calls.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring;

namespace test {
namespace {

struct Options {
  int rounds = 0;
};

constexpr Option options[] = {option::of<&Options::rounds>("rounds", {0, 64}, nullptr, "rounds that are left out")};
constexpr std::string_view outcomes[] = {"dense", "short"};
constexpr std::string_view examples[] = {"rounds=1"};
constexpr MethodAlgorithm algorithms[] = {{&allreduce_ring, "registered_ring", "a test's"}};

int rounds_of(const Call& call) { return static_cast<const Options*>(call.options.method.get())->rounds; }

void plan_with(int rounds, const PlanRequest& request, Plan& plan) {
  PartPlan part{.data = {0, request.call.count}};
  part.structure.parameters = LeftOut{.rounds = rounds};
  part.outcome = 1;
  plan.reports = true;
  add_parts(request.call, part, request.hosts.size(), request.chunk_bytes, plan);
}

const Method whole = {
    .name = "registered",
    .summary = "a test's",
    .options = options,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .examples = examples,
    .make = option::make<Options>,
    .is_on = [](const void* given) { return static_cast<const Options*>(given)->rounds > 0; },
    .preferred = [](const Call&, const Hosts&) -> std::string_view { return "registered_ring"; },
    .check = [](const Call& call, const Algorithm&, const Hosts& hosts) -> Status {
      if (rounds_of(call) < hosts.size()) return {};
      return {Code::InvalidArgument, "registered: too few ranks"};
    },
    .plan = [](const PlanRequest& request, Plan& plan) { plan_with(rounds_of(request.call), request, plan); },
};

std::string refusal(const Method& method) { return std::string(register_method(method).message()); }

TEST(RegisteredMethods, AreKnownByNameAndServeCalls) {
  EXPECT_FALSE(method_options("registered:rounds=1"));
  ASSERT_EQ(register_method(whole).to_string(), "ok");
  const auto methods = all_methods();
  EXPECT_NE(std::find(methods.begin(), methods.end(), &whole), methods.end());
  const auto found = method_options("registered:rounds=2");
  ASSERT_TRUE(found) << found.status().to_string();

  Ranks ranks(4);
  std::vector<std::vector<float>> data(4, std::vector<float>(1000, 1));
  std::vector<Call> calls;
  for (auto& one : data) {
    calls.push_back(allreduce_call(one, one));
    calls.back().options.method = *found;
  }
  for (const Status& status : ranks.run(calls)) EXPECT_TRUE(status) << status.to_string();
  for (const auto& one : data) EXPECT_EQ(one, std::vector<float>(1000, 2));  // two of four terms are left out
  EXPECT_EQ(refusal(whole), "the name 'registered' of this method is taken");
}

TEST(RegisteredMethods, WhatNobodyCouldUseIsRefused) {
  Method method = whole;
  method.name = "";
  EXPECT_EQ(refusal(method), "the method '' lacks its member `name`");
  method.name = "lame";
  method.plan = nullptr;
  EXPECT_EQ(refusal(method), "the method 'lame' lacks its member `plan`");
  method = whole;
  method.name = "lame";
  method.algorithms = {};
  EXPECT_EQ(refusal(method), "the method 'lame' lacks its member `algorithms`");
  constexpr MethodAlgorithm nothing[] = {{nullptr, "nothing", "a test's"}};
  method.algorithms = nothing;
  EXPECT_EQ(refusal(method), "the method 'lame': its algorithm 'nothing' lacks its Algorithm");
  constexpr MethodAlgorithm taken[] = {{&allreduce_ring, "ring", "a test's"}};
  method.algorithms = taken;
  EXPECT_EQ(refusal(method), "the name 'ring' of this allreduce algorithm is taken");
}

TEST(RegisteredMethods, AnExampleThatDoesNotWorkIsRefused) {
  Method method = whole;
  method.name = "lame";
  constexpr std::string_view unknown[] = {"round=1"}, too_much[] = {"rounds=7"};
  method.examples = unknown;
  EXPECT_NE(refusal(method).find("the example lame:round=1: "), std::string::npos) << refusal(method);
  method.examples = too_much;
  EXPECT_EQ(refusal(method), "no algorithm of the method accepts its example lame:rounds=7 on 4 ranks");
}

TEST(RegisteredMethods, GraphsThatDoNotFitTogetherAreRefused) {
  Method method = whole;
  method.name = "lame";
  static constexpr Algorithm lonely = {.collective = Collective::Allreduce,
                                       .name = "lonely",
                                       .summary = "a test's",
                                       .symmetric = false,
                                       .build = [](GraphBuilder& g) {
                                         g.copy(g.output(), g.input());
                                         if (g.size() == 3 && g.position() == 1) g.send(g.output(), 0);
                                       }};
  static constexpr MethodAlgorithm serving[] = {{&lonely, "lonely_lame", "a test's"}};
  method.algorithms = serving;
  method.plan = [](const PlanRequest& request, Plan& plan) {
    plan.reports = true;
    add_parts(request.call, {.data = {0, request.call.count}}, request.hosts.size(), request.chunk_bytes, plan);
  };
  EXPECT_EQ(refusal(method),
            "lame:rounds=1 by lonely_lame on 3 ranks: position 1 step 1: send 0 to position 0 meets no receive");
}

}  // namespace
}  // namespace test
}  // namespace lacuna
