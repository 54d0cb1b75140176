#include <cstdio>
#include <lacuna/checkpoint.hpp>

int main() {
  auto search = lacuna::checkpoint::newest_set("no-such-folder", 1);
  if (!search || search->set) return 1;
  std::puts("no checkpoint yet");
  return 0;
}
