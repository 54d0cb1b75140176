#include <array>
#include <cstdio>
#include <lacuna/lacuna.hpp>

// A program of calls, which knows methods by their texts only.
int main() {
  auto ranks = lacuna::Communicator::local(2);
  if (!ranks) {
    std::fprintf(stderr, "%s\n", ranks.status().to_string().c_str());
    return 1;
  }
  std::array<std::array<float, 3>, 2> data = {{{1, 2, 3}, {10, 20, 30}}};
  std::array<lacuna::Request, 2> requests;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    auto request = (*ranks)[rank].start(lacuna::allreduce(data[rank], data[rank]));
    if (!request) return 1;
    requests[rank] = *std::move(request);
  }
  for (lacuna::Request& request : requests) {
    if (lacuna::Status done = request.wait(); !done) {
      std::fprintf(stderr, "%s\n", done.to_string().c_str());
      return 1;
    }
  }
  const std::array<float, 3> expected = {11, 22, 33};
  if (data[0] != expected || data[1] != expected) return 1;

  const auto method = lacuna::method_options("skip:steps=1");
  if (!method) return 1;
  auto prepared =
      (*ranks)[0].prepare(lacuna::allreduce<float>(data[0], data[0], lacuna::Reduction::Sum, {.method = *method}));
  if (!prepared || prepared->gaps(0)) return 1;  // it has not been started
  std::printf("%.0f %.0f %.0f\n", data[0][0], data[0][1], data[0][2]);
  return 0;
}
