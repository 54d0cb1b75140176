// An application that has Kokkos of another version, and shows its symbols to all libraries.
#include <cstdio>
#include <lacuna/lacuna.hpp>
#include <span>
#include <vector>

namespace Kokkos {

bool is_initialized() noexcept {
  std::printf("the application's Kokkos was asked\n");
  return true;
}
void finalize() { std::printf("the application's Kokkos was ended\n"); }

}  // namespace Kokkos

int main() {
  auto ranks = lacuna::Communicator::local(2);
  if (!ranks) {
    std::printf("%s\n", ranks.status().to_string().c_str());
    return 1;
  }
  std::vector<float> first(100, 1.0f), second(100, 2.0f);
  auto one = (*ranks)[0].start(lacuna::allreduce(std::span<float>(first), std::span<float>(first)));
  auto two = (*ranks)[1].start(lacuna::allreduce(std::span<float>(second), std::span<float>(second)));
  if (!one || !two || !one->wait() || !two->wait()) return 2;
  std::printf("%.0f\n", static_cast<double>(first[99] + second[99]));
  return 0;
}
