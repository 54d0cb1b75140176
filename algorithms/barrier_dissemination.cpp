#include "runtime/graph/algorithm.hpp"

namespace lacuna {

// In round k each rank signals the rank 2^k further and waits for the one 2^k before (Hensgen, Finkel, Manber, 1988).
// It takes ceil(log2 P) rounds and sends no payload.
extern const Algorithm barrier_dissemination;
const Algorithm barrier_dissemination = {
    .collective = Collective::Barrier,
    .name = "dissemination",
    .summary = "log2 P rounds, no payload",
    .symmetric = true,
    .build =
        [](GraphBuilder& g) {
          const Rank p = g.size(), me = g.position();
          StepId received = 0;
          for (Rank distance = 1; distance < p; distance *= 2) {
            const StepId sent = g.send(GraphBuilder::signal(), me + distance);
            if (distance > 1) g.after(sent, received);
            const StepId before = received;
            received = g.receive(GraphBuilder::signal(), me - distance);
            if (distance > 1) g.after(received, before);  // then a signal stands for all rounds up to its own
          }
        },
};

}  // namespace lacuna
