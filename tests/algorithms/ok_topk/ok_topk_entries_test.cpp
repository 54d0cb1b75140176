#include "tests/algorithms/ok_topk/ok_topk_rig.hpp"
#include "tests/algorithms/topk/entries_rig.hpp"

// ok_topk with inputs and outputs of entries, and with all floating types.
namespace lacuna::test {
namespace {

class OkEntriesRig : public EntriesRig {
 public:
  explicit OkEntriesRig(Rank size) : EntriesRig(size) { method = "ok_topk"; }
};

TEST(OkEntries, OfInputsAreAddedToTheResidualAsIfTheyWereDense) {
  for (Rank size : {1, 2, 3, 5, 8}) {
    OkEntriesRig rig(size);
    OkRig other(size, 25, 2, "trigger=1");
    for (unsigned run = 0; run < 5; ++run) {
      const Vectors dense = sparse_inputs(Pattern::Uniform, rig.states.size(), 300, run);
      std::vector<Entries> given;
      for (std::size_t rank = 0; rank < dense.size(); ++rank) given.push_back(shuffled(dense[rank], unsigned(rank)));
      const Call call = rig.call_of(Collective::Allreduce, "ok_topk", "k=25,tau_prime=2,trigger=1", 300);
      ASSERT_NO_FATAL_FAILURE(expect_ok(rig.run(call, &given, {}, 300, 0)));
      ASSERT_EQ(other.run_as_expected(dense), "");
      ASSERT_EQ(rig.outputs, other.outputs) << "P=" << size << " run " << run;
      for (std::size_t rank = 0; rank < dense.size(); ++rank) {
        ASSERT_EQ(rig.residual(rank), other.residual(rank)) << "P=" << size << " run " << run;
      }
    }
  }
}

TEST(OkEntries, OfOutputsAreThoseOfTheDenseResultAndLeaveTheSameResiduals) {
  for (Rank size : {1, 2, 3, 5, 8}) {
    for (const char* trigger : {"1", "4"}) {
      OkEntriesRig rig(size);
      OkRig other(size, 25, 2, fmt::format("trigger={}", trigger));
      const std::string options = fmt::format("k=25,tau_prime=2,trigger={}", trigger);
      for (unsigned run = 0; run < 5; ++run) {
        const Vectors dense = gradients(rig.states.size(), 300, run);
        const Call call = rig.call_of(Collective::Allreduce, "ok_topk", options, 300);
        ASSERT_NO_FATAL_FAILURE(expect_ok(rig.run(call, nullptr, dense, 0, 300)));
        ASSERT_EQ(other.run_as_expected(dense), "");
        for (std::size_t rank = 0; rank < dense.size(); ++rank) {
          ASSERT_EQ(rig.results[rank], entries_of(other.outputs[rank])) << "P=" << size << " run " << run;
          rig.outputs[rank].resize(300);
          ASSERT_EQ(rig.residual(rank), other.residual(rank)) << "P=" << size << " run " << run;
        }
      }
    }
  }
}

TEST(OkEntries, ForWhichThereIsNoRoomAreAnErrorThatSaysHowManyThereAre) {
  OkEntriesRig rig(3);
  const Call call = rig.call_of(Collective::Allreduce, "ok_topk", "k=25", 300);
  for (const Status& end : rig.run(call, nullptr, gradients(3, 300, 1), 0, 7)) {
    EXPECT_NE(end.to_string().find("the result has 25 entries, the output has room for 7"), std::string::npos)
        << end.to_string();
  }
}

TEST(OkEntries, OfInputsNeedFeedbackAndNoMomentum) {
  OkEntriesRig rig(2);
  const std::vector<Entries> given(2, {{1, 2}, {3, 4}});
  const auto refusal = [&](const std::string& options) {
    return rig.run(rig.call_of(Collective::Allreduce, "ok_topk", options, 10), &given, {}, 10, 0)[0].to_string();
  };
  EXPECT_EQ(refusal("k=2,feedback=0"),
            "invalid argument: ok_topk adds an input of entries to its residual, so that feedback must be 1");
  EXPECT_EQ(refusal("k=2,momentum=0.5"),
            "invalid argument: ok_topk.momentum must be 0 if the input holds entries, because the velocity needs all "
            "elements");
}

}  // namespace
}  // namespace lacuna::test
