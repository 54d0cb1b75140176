// An application that uses Kokkos and lacuna. Its argument says when it initialises Kokkos: before, after or never.
#include <Kokkos_Core.hpp>
#include <cstdio>
#include <lacuna/lacuna.hpp>
#include <string>
#include <vector>

namespace {

void say(const char* text) { std::printf("%s\n", text); }

bool communicate(const char* when) {
  lacuna::Communicator world;
  if (std::string(when) == "after") Kokkos::initialize();
  std::vector<float> values(10, 1.0f), more(10, 1.0f);
  say("= blocking");
  if (!world.call(lacuna::allreduce(values, values, lacuna::Reduction::Sum, {.algorithm = "ring"}))) return false;
  say("= two at a time");
  auto first = world.start(lacuna::allreduce(values, values, lacuna::Reduction::Sum, {.algorithm = "ring"}));
  auto second = world.start(lacuna::broadcast(more, 0, {.algorithm = "tree"}));
  if (!first || !second || !second->test() || !first->wait()) return false;
  say("= a message");
  auto send = world.start_send<float>(std::span<const float>(values), 0);
  return send && world.receive<float>(more, 0) && send->test();
}

}  // namespace

int main(int, char** arguments) {
  if (std::string(arguments[1]) == "before") Kokkos::initialize();
  const bool well = communicate(arguments[1]);
  say("= end");
  if (Kokkos::is_initialized()) Kokkos::finalize();
  std::printf("%s\n", well ? "well" : "failed");
  return well ? 0 : 1;
}
