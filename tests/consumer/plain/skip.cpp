#include <array>
#include <cstdio>
#include <lacuna/algorithms/skip/importance.hpp>
#include <lacuna/algorithms/skip/skip.hpp>
#include <lacuna/lacuna.hpp>

// A program that skips includes the headers of this method.
int main() {
  lacuna::Communicator alone({.size = 1});
  std::array<float, 3> data = {1, 2, 3};
  lacuna::MethodState state;
  const lacuna::Options options{
      .algorithm = "skip_ring",
      .method = lacuna::skip({.steps = 1, .small = 1, .segments = {{0, 3, lacuna::SkipPolicy::Automatic}}}),
      .state = &state};
  auto request = alone.start(lacuna::allreduce<float>(data, data, lacuna::Reduction::Sum, options));
  if (!request) {
    std::fprintf(stderr, "%s\n", request.status().to_string().c_str());
    return 1;
  }
  if (lacuna::Status done = request->wait(); !done) return 1;
  if (request->report().method != &lacuna::skip_method || lacuna::importance_of(state).size() > 1) return 1;
  std::puts(options.method.text().c_str());
  return 0;
}
