// The throw-away method through the installed C++ interface: by the method's own header, and by text.
#include <cstdio>
#include <lacuna/algorithms/forgetful/forgetful.hpp>
#include <lacuna/lacuna.hpp>
#include <vector>

int main() {
  lacuna::Communicator world;
  const auto method = lacuna::method_options("forgetful:rounds=1,weight=2");
  if (!method || method->as<lacuna::Forgetful>().rounds != 1) return 1;
  std::vector<float> data(12, 1);
  auto request = world.start(lacuna::allreduce(data, lacuna::Reduction::Sum, {.method = *method}));
  if (!request || !request->wait()) return 1;
  std::printf("rounds left out: %g\n", request->report().measures.value(lacuna::forgetful_measure::rounds));
}
