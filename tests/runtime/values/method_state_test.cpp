#include "runtime/values/method_state.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/values/digest.hpp"

namespace lacuna {
namespace {

/// The saved bytes of a state with one array.
struct Saved {
  Saved() {
    MethodState state;
    state.array("residual", Dtype::U8, 16, true);
    bytes = *state.save();
  }
  std::uint64_t word(std::size_t place) const {
    std::uint64_t found = 0;
    std::memcpy(&found, bytes.data() + 8 * place, sizeof found);
    return found;
  }
  /// Changes a word, and corrects the digest of everything behind the header, as an attacker would.
  void set(std::size_t place, std::uint64_t value) {
    std::memcpy(bytes.data() + 8 * place, &value, sizeof value);
    const std::uint64_t digest =
        Digest().add({reinterpret_cast<const char*>(bytes.data()) + 32, bytes.size() - 32}).value();
    std::memcpy(bytes.data() + 24, &digest, sizeof digest);
  }
  Status restored() const {
    MethodState state;
    return state.restore(bytes);
  }

  static constexpr std::size_t arrays = 8, kind = 9, name_length = 10, byte_length = 11;
  std::vector<std::byte> bytes;
};

TEST(SavedState, AnElementTypeIsOneOfThoseThatThereAre) {
  for (std::size_t dtype = 0; dtype < 256; ++dtype) {
    Saved saved;
    ASSERT_EQ(saved.word(Saved::kind) & 0xff, static_cast<std::uint64_t>(Dtype::U8));
    saved.set(Saved::kind, dtype);
    const bool fits = dtype < all_dtypes.size() && 16 % size_of(static_cast<Dtype>(dtype)) == 0;
    EXPECT_EQ(saved.restored().is_ok(), fits) << dtype;
  }
}

TEST(SavedState, LengthsEndWhereItsBytesDo) {
  const std::uint64_t most = ~std::uint64_t{0};
  for (std::size_t place : {Saved::arrays, Saved::name_length, Saved::byte_length}) {
    const std::uint64_t right = Saved().word(place);
    for (std::uint64_t value : {right, right + 1, right - 1, most, most - 7, most / 2 + 1}) {
      Saved saved;
      saved.set(place, value);
      EXPECT_EQ(saved.restored().is_ok(), value == right) << "word " << place << " is " << value;
    }
  }
}

TEST(SavedState, HasOneArrayOfEachName) {
  for (const std::string_view second : {"residual", "residual2", "momentum", ""}) {
    MethodState state;
    for (const std::string_view name : {std::string_view("residual"), second}) {
      state.arrays.push_back({.name = std::string(name), .dtype = Dtype::F32, .own = true, .bytes = {}});
    }
    MethodState restored;
    EXPECT_EQ(restored.restore(*state.save()).is_ok(), second != "residual") << second;
  }
}

TEST(SavedState, AStateThatIsRefusedIsAsItWas) {
  MethodState state;
  state.array("residual", Dtype::F32, 3, true);
  state.runs = 5;
  const std::vector<std::byte> before = *state.save();
  Saved damaged;
  damaged.set(Saved::kind, all_dtypes.size());
  EXPECT_EQ(state.restore(damaged.bytes).message(), "120 bytes: this state is damaged");
  EXPECT_EQ(*state.save(), before);
}

}  // namespace
}  // namespace lacuna
