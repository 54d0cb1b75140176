// The smallest use of lacuna from C++: every rank contributes its number, and all ranks get the sum.
//   lacuna launch -n 4 ./example_allreduce
#include <cstdio>
#include <lacuna/lacuna.hpp>
#include <vector>

int main() {
  auto world = lacuna::Communicator::world();
  if (!world) {
    std::fprintf(stderr, "%s\n", world.status().to_string().c_str());
    return 1;
  }
  const std::vector<float> mine(1000, static_cast<float>(world->rank() + 1));
  std::vector<float> sum(mine.size());
  const lacuna::Status status = world->call(lacuna::allreduce(mine, sum));
  if (!status) {
    std::fprintf(stderr, "%s\n", status.to_string().c_str());
    return 1;
  }
  std::printf("rank %d of %d: sum %g\n", world->rank(), world->size(), static_cast<double>(sum[0]));
  return 0;
}
