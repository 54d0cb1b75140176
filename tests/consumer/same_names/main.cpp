// Includes files of its own and headers of lacuna, some of which have the same paths.
#include <algorithms/methods.hpp>
#include <cstdio>
#include <kernels/elements.hpp>
#include <lacuna/algorithms/topk/topk.hpp>
#include <lacuna/checkpoint.hpp>
#include <lacuna/kernels/elements.hpp>
#include <lacuna/lacuna.hpp>
#include <vector>

#include "algorithms/methods.hpp"
#include "kernels/elements.hpp"
#include "runtime/values/status.hpp"

int main() {
  lacuna::Communicator alone({.size = 1});
  std::vector<float> triangles = {static_cast<float>(Elements{.triangles = 3}.triangles)};
  const lacuna::Status summed = alone.call(lacuna::allreduce(triangles));
  const Status status = summed && triangles[0] == 3 ? Status::Done : Status::Planned;
  const auto method = lacuna::topk({.density = 0.01});
  std::printf("%s beside %s\n", methods[1], method.text().c_str());
  return status == Status::Done ? 0 : 1;
}
