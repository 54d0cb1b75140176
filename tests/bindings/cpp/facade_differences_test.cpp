#include <gtest/gtest.h>

#include <optional>
#include <regex>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/skip.hpp"
#include "tests/bindings/cpp/facade_ranks.hpp"

// Rank 1 asks for something else in one field. If the call uses the field, the mismatch shows both values. Else there
// is none.
namespace lacuna {
namespace {

using namespace test;

constexpr std::size_t most = 24;

/// What one rank gives to a call.
struct Given {
  Call call{.collective = Collective::Allreduce, .count = 12};
  std::vector<std::byte> input = std::vector<std::byte>(most * 8), output = input;
  std::vector<std::size_t> counts;
  std::vector<std::uint32_t> places = std::vector<std::uint32_t>(most);
  std::size_t entries = 0;
  std::optional<Skip> asked;
  MethodState state;
  Sampler sampler;

  Skip& skip() { return asked ? *asked : asked.emplace(); }
  void keep_state() { call.options.state = &state; }
  void skip_ring(int steps) {
    call.options.algorithm = "skip_ring";
    skip().steps = steps;
  }
  void cut(std::size_t first, SkipPolicy policy, std::size_t small = 0) {
    skip().segments = {{.offset = 0, .count = first, .policy = policy}, {.offset = first, .count = call.count - first}};
    skip().small = small;
  }
  void gather_blocks(std::vector<std::size_t> blocks, Rank rank) {
    call.collective = Collective::Allgatherv;
    counts = std::move(blocks);
    call.count = counts[static_cast<std::size_t>(rank)];
  }
  const Call& made() {
    call.input = input.data();
    call.output = output.data();
    call.output_blocks.counts = counts;
    if (asked) call.options.method = lacuna::skip(*asked);
    return call;
  }
};

/// `values` are what stands in the text of ranks 0 and 2, and in that of rank 1.
struct Field {
  const char* name;
  const char* values[2];
  void (*set)(Given& given, bool is_other, Rank rank);
};

void PrintTo(const Field& field, std::ostream* out) { *out << field.name; }

const Field fields[] = {
    {"Collective",
     {"allreduce", "barrier"},
     [](Given& g, bool other, Rank) {
       if (other) g.call.collective = Collective::Barrier;
     }},
    {"Dtype", {" f32 ", " i32 "}, [](Given& g, bool other, Rank) { g.call.dtype = other ? Dtype::I32 : Dtype::F32; }},
    {"Reduction",
     {" sum", " max"},
     [](Given& g, bool other, Rank) { g.call.reduction = other ? Reduction::Max : Reduction::Sum; }},
    {"Count", {"count 12", "count 11"}, [](Given& g, bool other, Rank) { g.call.count -= other; }},
    {"Algorithm",
     {" ring ", " recursive_doubling "},
     [](Given& g, bool other, Rank) { g.call.options.algorithm = other ? "recursive_doubling" : "ring"; }},
    {"Root",
     {"root 0", "root 2"},
     [](Given& g, bool other, Rank) {
       g.call.collective = Collective::Broadcast;
       g.call.root = other ? 2 : 0;
     }},
    {"Blocks",
     {"blocks of 6 (table ", "blocks of 6 (table "},
     [](Given& g, bool other, Rank rank) {
       g.gather_blocks(other ? std::vector<std::size_t>{1, 2, 3} : std::vector<std::size_t>{2, 2, 2}, rank);
     }},
    {"Steps",
     {" with skip:steps=1 (steps 1)", " with skip:steps=2 (steps 2)"},
     [](Given& g, bool other, Rank) { g.skip_ring(other ? 2 : 1); }},
    {"Nothing",
     {"allreduce ring f32 count 12 sum, 1 of the parts dense", " with skip:steps=2 (steps 2)"},
     [](Given& g, bool other, Rank) { g.skip_ring(other ? 2 : 0); }},
    {"Method",
     {" sum with skip:steps=1 ", "allreduce ring f32 count 12 sum"},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       if (other) g.asked.reset();
     }},
    {"Ratio",
     {" with skip:ratio=0.34 (steps 1)", " with skip:ratio=0.67 (steps 2)"},
     [](Given& g, bool other, Rank) {
       g.skip_ring(0);
       g.skip().ratio = other ? 0.67 : 0.34;
     }},
    {"Mode",
     {" with skip:steps=1 (", " with skip:steps=1,mode=random ("},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.skip().mode = other ? SkipMode::Random : SkipMode::Static;
     }},
    {"Order",
     {",mode=shuffled (", ",mode=random ("},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.skip().mode = other ? SkipMode::Random : SkipMode::Shuffled;
     }},
    {"Scale",
     {" with skip:steps=1 (", ",scale=renormalised ("},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.skip().scale = other ? SkipScale::Renormalised : SkipScale::ZeroFill;
     }},
    {"Factor",
     {",scale=factor,factor=0.5 (", ",scale=factor,factor=0.25 ("},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.skip().scale = SkipScale::Factor;
       g.skip().factor = other ? 0.25 : 0.5;
     }},
    {"GatherSteps",
     {",gather_steps=1 (steps 1, gather_steps 1)", ",gather_steps=2 (steps 1, gather_steps 2)"},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.skip().incomplete = true;
       g.skip().gather_steps = other ? 2 : 1;
     }},
    {"Keep",
     {" with skip:steps=1,incomplete=1 (", ",incomplete=1,keep=1 ("},
     [](Given& g, bool other, Rank) {
       g.call.collective = Collective::Allgather;
       g.call.count = 4;
       g.skip_ring(1);
       g.skip().incomplete = true;
       g.skip().keep = other;
     }},
    {"Reversed",
     {",mode=shuffled,reversed=1 (", ",mode=shuffled ("},
     [](Given& g, bool other, Rank) {
       g.call.collective = Collective::ReduceScatter;
       g.call.count = 4;
       g.skip_ring(1);
       g.skip().mode = SkipMode::Shuffled;
       g.skip().reversed = !other;
     }},
    {"Feedback",
     {",feedback=1 (", " with skip:steps=1 ("},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.keep_state();
       g.skip().feedback = !other;
     }},
    {"WarmUp",
     {" with skip:steps=2,warm_up=1, 1 of the parts dense", " with skip:steps=2 (steps 2)"},
     [](Given& g, bool other, Rank) {
       g.skip_ring(2);
       g.keep_state();
       g.skip().warm_up = !other;
     }},
    {"Schedule",
     {" with skip:schedule=0:1 (steps 1)", " with skip:schedule=0:2 (steps 2)"},
     [](Given& g, bool other, Rank) {
       g.skip_ring(0);
       g.keep_state();
       g.skip().schedule = {{.from_run = 0, .steps = other ? 2 : 1}};
     }},
    {"Segments",
     {": [0, 6) dense, [6, 12) with rounds=1", ": [0, 5) dense, [5, 12) with rounds=1"},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.cut(other ? 5 : 6, SkipPolicy::Never);
     }},
    {"Policy",
     {" (steps 1), 1 of the parts dense, plan ", " (steps 1), plan "},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.cut(6, other ? SkipPolicy::Skip : SkipPolicy::Never);
     }},
    {"Small",
     {",small=16 (steps 1), 1 of the parts dense, plan ", ",small=0 (steps 1), plan "},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.cut(2, SkipPolicy::Skip, other ? 0 : 16);
     }},
    {"SmallWithoutSegments",
     {" with skip:steps=1 (", " with skip:steps=1,small=4097 ("},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.skip().small += other;
     }},
    {"Audit",
     {",audit=1,audit_samples=4 (", ",audit=3,audit_samples=4 ("},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.keep_state();
       g.skip().audit = other ? 3 : 1;
       g.skip().audit_samples = 4;
     }},
    {"AuditSamples",
     {",audit=1,audit_samples=4 (", ",audit=1,audit_samples=5 ("},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.keep_state();
       g.skip().audit = 1;
       g.skip().audit_samples = other ? 5 : 4;
     }},
    {"RunsOfTheState",
     {", run 1 of its state, ", ", run 7 of its state, "},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.keep_state();
       g.skip().warm_up = 4;
       g.state.runs = other ? 6 : 0;
     }},
    {"OutputAsEntries",
     {"topk:k=3,feedback=0 (", "topk:k=3,feedback=0 to a list of entries ("},
     [](Given& g, bool other, Rank) {
       g.call.options.method = *method_options("topk:k=3,feedback=0");
       if (other) g.call.output_entries = {g.places.data(), most, &g.entries};
     }},
    {"ResidualOfTheState",
     {" [0, 12) dense with feedback", " [0, 12) dense"},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.keep_state();
       g.skip().feedback = true;
       g.skip().warm_up = 1;
       if (!other) g.state.array(residual_array, Dtype::F32, 12, true);
     }},
    {"Seed",
     {" seed 3 ", " seed 4 "},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.skip().mode = SkipMode::Random;
       g.call.options.sampler = &g.sampler;
       g.sampler = {.seed = other ? 4u : 3u, .key = 7, .draw = 9};
     }},
    {"Key",
     {" key 7 ", " key 8 "},
     [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.skip().mode = SkipMode::Random;
       g.call.options.sampler = &g.sampler;
       g.sampler = {.seed = 3, .key = other ? 8u : 7u, .draw = 9};
     }},
    {"Draw", {" draw 9", " draw 10"}, [](Given& g, bool other, Rank) {
       g.skip_ring(1);
       g.skip().mode = SkipMode::Shuffled;
       g.keep_state();
       g.state.sampler = {.seed = 3, .key = 7, .draw = other ? 10u : 9u};
     }}};

std::vector<Status> outcome_of(const Field& field) {
  auto ranks = local(3, Progress::Thread);
  std::vector<Given> given(3);
  std::vector<Status> all(3);
  on_each(ranks, [&](Communicator& rank) {
    const auto i = static_cast<std::size_t>(rank.rank());
    field.set(given[i], rank.rank() == 1, rank.rank());
    Status ended = rank.call(given[i].made());
    if (ended) ended = rank.call(barrier());  // a rank's part may have been done before the others differed
    all[i] = ended;
  });
  return all;
}

class FacadeDifferences : public testing::TestWithParam<Field> {};
INSTANTIATE_TEST_SUITE_P(, FacadeDifferences, testing::ValuesIn(fields),
                         [](const auto& given) { return std::string(given.param.name); });

TEST_P(FacadeDifferences, AreNamedWithBothValuesOnAllRanks) {
  for (const Status& status : outcome_of(GetParam())) {
    EXPECT_EQ(status.code(), Code::Mismatch) << status.to_string();
    const std::regex form("call 0 differs: ranks? ([0-9, ]*) posted (.*); ranks? ([0-9, ]*) posted (.*)");
    std::smatch sides;
    const std::string text(status.message());
    ASSERT_TRUE(std::regex_match(text, sides, form)) << text;
    const bool other_first = sides[1] == "1";
    const std::string others = sides[other_first ? 4 : 2], own = sides[other_first ? 2 : 4];
    EXPECT_NE(others, own);
    EXPECT_NE(others.find(GetParam().values[0]), std::string::npos) << text;
    EXPECT_NE(own.find(GetParam().values[1]), std::string::npos) << text;
  }
}

const Field unused[] = {{"SeedOfStaticMode",
                         {},
                         [](Given& g, bool other, Rank) {
                           g.skip_ring(1);
                           g.call.options.sampler = &g.sampler;
                           g.sampler = {.seed = other ? 4u : 3u, .key = other, .draw = other};
                         }},
                        {"NameOfTheAlgorithmWithItsMethod",
                         {},
                         [](Given& g, bool other, Rank) {
                           g.skip_ring(1);
                           if (other) g.call.options.algorithm = "ring";
                         }},
                        {"SeedOfTheStateInStaticMode",
                         {},
                         [](Given& g, bool other, Rank) {
                           g.skip_ring(1);
                           g.keep_state();
                           g.state.sampler.seed = other;
                         }},
                        {"SeedWhereNothingIsSkipped",
                         {},
                         [](Given& g, bool other, Rank) {
                           g.skip_ring(0);
                           g.call.options.sampler = &g.sampler;
                           g.sampler.seed = other;
                         }},
                        {"ModeWhereNothingIsSkipped",
                         {},
                         [](Given& g, bool other, Rank) {
                           g.skip_ring(0);
                           g.skip().mode = other ? SkipMode::Shuffled : SkipMode::Static;
                         }},
                        {"FactorOfAnotherScale",
                         {},
                         [](Given& g, bool other, Rank) {
                           g.skip_ring(1);
                           g.skip().factor = other ? 2 : 3;
                         }},
                        {"SamplesWithoutAnAudit",
                         {},
                         [](Given& g, bool other, Rank) {
                           g.skip_ring(1);
                           g.skip().audit_samples += other;
                         }},
                        {"RootOfAnAllreduce", {}, [](Given& g, bool other, Rank) { g.call.root = other; }},
                        {"ReductionOfABroadcast",
                         {},
                         [](Given& g, bool other, Rank) {
                           g.call.collective = Collective::Broadcast;
                           g.call.reduction = other ? Reduction::Max : Reduction::Sum;
                         }},
                        {"DtypeOfABarrier", {}, [](Given& g, bool other, Rank) {
                           g.call.collective = Collective::Barrier;
                           g.call.dtype = other ? Dtype::F64 : Dtype::F32;
                         }}};

class FacadeUnused : public testing::TestWithParam<Field> {};
INSTANTIATE_TEST_SUITE_P(, FacadeUnused, testing::ValuesIn(unused),
                         [](const auto& given) { return std::string(given.param.name); });

TEST_P(FacadeUnused, MayDiffer) {
  for (const Status& status : outcome_of(GetParam())) EXPECT_TRUE(status) << status.to_string();
}

}  // namespace
}  // namespace lacuna
