#include "tests/support/entries_fuzz.hpp"

#include <fmt/format.h>

#include <cstring>

#include "tests/kernels/oracle.hpp"
#include "tests/support/messages.hpp"

namespace lacuna::test {
namespace {

/// The bytes of the game, which are taken one after the other. After their end there are zeros.
class Draws {
 public:
  explicit Draws(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool any() const { return !bytes_.empty(); }
  std::uint32_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint32_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  std::uint32_t word() { return byte() << 24 | byte() << 16 | byte() << 8 | byte(); }
  std::uint32_t below(std::size_t below) { return below == 0 ? 0 : word() % static_cast<std::uint32_t>(below); }

 private:
  std::span<const std::uint8_t> bytes_;
};

constexpr std::uint32_t segment = 3;

Bytes drawn_message(Draws& draws, Dtype dtype, std::size_t length) {
  constexpr double densities[] = {0, 0.0001, 0.002, 0.03, 0.3, 1};
  const std::size_t choices = length > 10000 ? 4 : std::size(densities);
  std::mt19937_64 random(draws.byte());
  const Sparse sparse = drawn_sparse(dtype, length, densities[draws.byte() % choices], random);
  return written(sparse, kernels::all_formats[draws.byte() % 4], segment);
}

/// Adds to a number in the message; changes its bytes; doubles, swaps or moves them; or makes it shorter or longer.
void change(Draws& draws, Bytes& message) {
  const std::uint32_t kind = draws.byte() % 8;
  const std::size_t size = message.size();
  const std::size_t near_start = kind % 2 == 0 ? std::min<std::size_t>(size, 64) : size;
  const std::size_t at = draws.below(near_start);
  if (kind < 2 && at + 4 <= size) {
    std::uint32_t number = 0;
    std::memcpy(&number, message.data() + at / 4 * 4, 4);
    number += draws.byte() - 128;
    std::memcpy(message.data() + at / 4 * 4, &number, 4);
  } else if (kind < 4 && size != 0) {
    message[at] = static_cast<std::byte>(draws.byte());
  } else if (kind < 6 && size >= 8) {
    const std::size_t unit = kind == 4 ? 2 : 4, from = draws.below(size / unit) * unit, to = at / unit * unit;
    if (to + unit <= size) std::memcpy(message.data() + to, Bytes(message).data() + from, unit);
  } else if (kind == 6) {
    message.resize(draws.byte() % 2 == 0 ? at : size - std::min<std::size_t>(size, draws.byte() % 9));
  } else {
    message.resize(size + draws.byte() % 9, static_cast<std::byte>(draws.byte()));
  }
}

}  // namespace

std::string play_entries_game(const kernels::Backend& on, std::span<const std::uint8_t> bytes) {
  constexpr std::size_t lengths[] = {0, 1, 7, 8, 9, 63, 100, 1000, 3000, 4095, 4096, 4097, 5000, 9000, 65539, 131080};
  Draws draws(bytes);
  const Dtype dtype = float_dtypes[draws.byte() % 4];
  const std::size_t length = lengths[draws.byte() % std::size(lengths)];
  Bytes message = drawn_message(draws, dtype, length);
  for (int changes = 0; changes < 8 && draws.any(); ++changes) change(draws, message);

  const std::optional<Sparse> defined = read(message, dtype, segment, length);
  std::optional<Indexed> found = indexed(on, message, dtype, segment, length);
  if (found.has_value() != defined.has_value()) {
    return fmt::format("{} bytes are {}", message.size(), found ? "taken for a message" : "refused");
  }
  if (!found) return {};
  std::vector<Indexed> alone;
  alone.push_back(*std::move(found));
  const Merged result = merged(on, alone, {}, dtype, length, length);
  if (result.sparse.places != defined->places) return "entries have other places";
  for (std::size_t i = 0; i < defined->values.size(); ++i) {
    if (!oracle::same(dtype, result.sparse.values[i], defined->values[i])) return "entries have other values";
  }
  return {};
}

}  // namespace lacuna::test
