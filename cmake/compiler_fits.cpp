// Some compilers make wrong code of this program for some processors. When g++ 12.2 tunes for Intel's processors with
// AVX-512, it stores the second row of such a list in pieces, and the row's null pointer becomes 1. The tables of
// graphs are lists of this kind. The program ends with 0 if its code is right, with 1 if it is wrong, and with 2 if
// this processor does not run it.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

struct Row {
  std::uint8_t role = 2;
  std::optional<std::uint8_t> element{};
  void (*capacity)() = nullptr;
  std::string_view name{};
  bool own = true;
  std::uint8_t memory = 0;
  std::uint32_t first = 0, count = 1;
};

struct Tables {
  std::vector<Row> rows{{.role = 0}, {.role = 1}};
};

__attribute__((noinline)) Tables tables() { return {}; }

int main() {
  std::signal(SIGILL, [](int) { std::_Exit(2); });
  const Tables made = tables();
  std::uint8_t role = 0;
  for (const Row& row : made.rows) {
    const bool is_right = row.role == role++ && !row.element && !row.capacity && row.name.empty() && row.own &&
                          row.memory == 0 && row.first == 0 && row.count == 1;
    if (!is_right) return 1;
  }
  return 0;
}
