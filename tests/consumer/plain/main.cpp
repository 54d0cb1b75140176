#include <array>
#include <cstdio>
#include <lacuna.hpp>

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

  // What a program that skips needs is installed and exported.
  lacuna::MethodState state;
  const lacuna::Options options{
      .algorithm = "skip_ring",
      .method = lacuna::skip({.steps = 1, .small = 1, .segments = {{0, 3, lacuna::SkipPolicy::Automatic}}}),
      .state = &state};
  if (options.method.text() != "skip:steps=1,small=1") return 1;
  auto request = (*ranks)[0].prepare(lacuna::allreduce<float>(data[0], data[0], lacuna::Reduction::Sum, options));
  if (!request || request->gaps(0) || !lacuna::importance_of(state).empty()) return 1;
  std::printf("%.0f %.0f %.0f\n", data[0][0], data[0][1], data[0][2]);
  return 0;
}
