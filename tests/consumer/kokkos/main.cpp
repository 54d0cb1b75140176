#include <Kokkos_Core.hpp>
#include <cstdio>
#include <lacuna/lacuna.hpp>
#include <span>
#include <vector>

namespace {

// The element of a sum over two ranks that both hold 0, 1, 2 ..., or a negative number after a failure.
double allreduce_of_views(int count) {
  auto ranks = lacuna::Communicator::local(2);
  if (!ranks) return -1;
  std::vector<Kokkos::View<double*, Kokkos::HostSpace>> views;
  std::vector<lacuna::Request> requests;
  for (lacuna::Communicator& rank : *ranks) {
    Kokkos::View<double*, Kokkos::HostSpace> view("values", static_cast<std::size_t>(count));
    Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, count), [=](int i) { view(i) = i; });
    Kokkos::fence();
    std::span<double> values(view.data(), view.size());
    auto request = rank.start(lacuna::allreduce(values, values));
    if (!request) return -1;
    requests.push_back(*std::move(request));
    views.push_back(view);
  }
  for (lacuna::Request& request : requests) {
    if (lacuna::Status done = request.wait(); !done) return -1;
  }
  return views[0](count - 1);
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::initialize(argc, argv);
  const double last = allreduce_of_views(1000);
  // lacuna must not have finalised what it did not initialise.
  const bool still_ours = Kokkos::is_initialized();
  Kokkos::finalize();
  if (last != 2 * 999.0 || !still_ours) return 1;
  std::printf("%.0f\n", last);
  return 0;
}
