#include "kernels/elements.hpp"
#include "tests/algorithms/topk/sparse_rig.hpp"

// Sparse sums of each floating-point type, and places that a float could not hold.
namespace lacuna::test {
namespace {

TEST(TopkTypes, EveryFloatingTypeIsSummedExactlyWhereItCanBe) {
  for (Dtype dtype : {Dtype::F64, Dtype::BF16, Dtype::F16}) {
    for (const char* algorithm : sparse_allreduces) {
      Ranks ranks(3);
      kernels::with_floating_element(dtype, [&]<class T>(kernels::Element<T>) {
        std::vector<std::vector<T>> inputs(3, std::vector<T>(100)), outputs = inputs;
        std::vector<Call> calls;
        for (std::size_t rank = 0; rank < 3; ++rank) {
          for (std::size_t i = 0; i < 100; ++i) {
            const int value = i % 4 == rank ? 0 : static_cast<int>(i % 9) - 4;
            inputs[rank][i] = kernels::narrow<T>(static_cast<kernels::WideOf<T>>(value));
          }
          Call call{.collective = Collective::Allreduce,
                    .input = inputs[rank].data(),
                    .output = outputs[rank].data(),
                    .count = 100,
                    .dtype = dtype};
          call.options.algorithm = algorithm;
          call.options.method = *method_options("topk:density=1,feedback=0");
          calls.push_back(call);
        }
        for (const Status& end : ranks.run(calls)) ASSERT_TRUE(end) << end.to_string();
        for (std::size_t i = 0; i < 100; ++i) {
          const int terms = i % 4 == 3 ? 3 : 2;
          EXPECT_EQ(static_cast<double>(kernels::widen(outputs[1][i])), terms * (static_cast<int>(i % 9) - 4))
              << algorithm;
        }
      });
    }
  }
}

TEST(TopkTypes, MassOfEveryFloatingTypeIsConservedWhereSumsAreExact) {
  constexpr std::size_t count = 120;
  for (Dtype dtype : {Dtype::F64, Dtype::BF16, Dtype::F16}) {
    for (const char* algorithm :
         {"sparse_allgather", "sparse_split", "sparse_ring", "sparse_doubling", "gtopk", "ok_topk"}) {
      const bool is_ok = algorithm == std::string_view("ok_topk");
      const std::string method = is_ok ? "ok_topk:k=17,tau_prime=2,bucket=1,trigger=1" : "topk:k=17";
      kernels::with_floating_element(dtype, [&]<class T>(kernels::Element<T>) {
        Ranks ranks(3);
        std::vector<MethodState> states(3);
        std::vector<double> went_in(count), came_out(count);
        const auto add = [&](std::vector<double>& sum, const T* values) {
          for (std::size_t i = 0; i < count; ++i) sum[i] += static_cast<double>(kernels::widen(values[i]));
        };
        for (unsigned run = 0; run < 3; ++run) {
          const Vectors drawn = sparse_inputs(Pattern::Full, 3, count, run);
          std::vector<std::vector<T>> inputs(3, std::vector<T>(count)), outputs = inputs;
          std::vector<Call> calls;
          for (std::size_t rank = 0; rank < 3; ++rank) {
            for (std::size_t i = 0; i < count; ++i) {
              const float small = std::trunc(drawn[rank][i] / 30);
              inputs[rank][i] = kernels::narrow<T>(static_cast<kernels::WideOf<T>>(small));
            }
            add(went_in, inputs[rank].data());
            Call call{.collective = Collective::Allreduce,
                      .input = inputs[rank].data(),
                      .output = outputs[rank].data(),
                      .count = count,
                      .dtype = dtype};
            call.options.algorithm = algorithm;
            call.options.method = *method_options(method);
            call.options.state = &states[rank];
            calls.push_back(call);
          }
          for (const Status& end : ranks.run(calls)) ASSERT_TRUE(end) << end.to_string();
          add(came_out, outputs[run].data());
        }
        for (const MethodState& state : states) {
          add(came_out, reinterpret_cast<const T*>(state.find(residual_array)->bytes.data()));
        }
        EXPECT_EQ(came_out, went_in) << algorithm << " of " << to_string(dtype);
      });
    }
  }
}

TEST(TopkTypes, PlacesBeyondTheBitsOfAFloatArriveExactly) {
  constexpr std::size_t count = (std::size_t{1} << 24) + 77;
  for (const char* algorithm : {"sparse_split", "sparse_allgather"}) {
    SparseRig rig(2);
    Vectors inputs(2, std::vector<float>(count));
    inputs[0][count - 1] = 1;
    inputs[0][count - 2] = 2;
    inputs[1][count - 2] = 3;
    inputs[1][16777217] = 4;
    ASSERT_EQ(rig.run(inputs, algorithm, "k=5,feedback=0,format=coordinates"), "");
    for (const auto& output : rig.outputs) EXPECT_TRUE(output == sum_of(inputs)) << algorithm;
  }
}

}  // namespace
}  // namespace lacuna::test
