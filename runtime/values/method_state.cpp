#include "runtime/values/method_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/values/count_of.hpp"
#include "runtime/values/digest.hpp"

namespace lacuna {
namespace {

constexpr std::uint64_t mark = 0x6574617473636c6cu;  // "llcstate"
constexpr std::uint64_t version = 1;

/// The header of saved bytes.
struct Header {
  std::uint64_t mark;
  std::uint64_t version;
  std::uint64_t length;  ///< bytes behind the header
  std::uint64_t digest;  ///< of the bytes behind the header
};

Status busy() {
  return {Code::Busy,
          "a call that has not given its buffers back changes this state; it is saved and restored between calls"};
}

std::uint64_t digest_of(std::span<const std::byte> bytes) {
  return Digest().add({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).value();
}

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& to) : to_(to) {}
  void put(std::uint64_t word) { put(std::as_bytes(std::span(&word, 1))); }
  void put(std::span<const std::byte> bytes) { to_.insert(to_.end(), bytes.begin(), bytes.end()); }
  void put(const MemoryBlock& block) {
    to_.resize(to_.size() + block.size());
    block.copy_to(to_.data() + (to_.size() - block.size()));
  }

 private:
  std::vector<std::byte>& to_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  std::optional<std::span<const std::byte>> take(std::uint64_t count) {
    if (count > left_.size()) return std::nullopt;
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  std::optional<std::uint64_t> word() {
    const auto bytes = take(sizeof(std::uint64_t));
    if (!bytes) return std::nullopt;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes->data(), sizeof word);
    return word;
  }
  bool at_end() const { return left_.empty(); }

 private:
  std::span<const std::byte> left_;
};

std::optional<StateArray> read_array(Reader& from) {
  const auto kind = from.word(), name_length = from.word(), bytes_length = from.word();
  if (!kind || !name_length || !bytes_length || (*kind & 0xff) >= all_dtypes.size()) return std::nullopt;
  const auto name = from.take(*name_length), bytes = from.take(*bytes_length);
  if (!name || !bytes) return std::nullopt;
  StateArray array{.name = std::string(reinterpret_cast<const char*>(name->data()), name->size()),
                   .dtype = static_cast<Dtype>(*kind & 0xff),
                   .own = (*kind >> 8) == 1,
                   .bytes = MemoryBlock(*bytes)};
  if (array.bytes.size() % size_of(array.dtype) != 0) return std::nullopt;
  return array;
}

std::optional<MethodState> read_state(Reader from) {
  MethodState state;
  const auto seed = from.word(), key = from.word(), draw = from.word(), runs = from.word(), arrays = from.word();
  if (!seed || !key || !draw || !runs || !arrays) return std::nullopt;
  state.sampler = {*seed, *key, *draw};
  state.runs = *runs;
  for (std::uint64_t i = 0; i < *arrays; ++i) {
    auto array = read_array(from);
    if (!array || state.find(array->name)) return std::nullopt;
    state.arrays.push_back(std::move(*array));
  }
  return from.at_end() ? std::optional(std::move(state)) : std::nullopt;
}

}  // namespace

StateArray* MethodState::find(std::string_view name) {
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const auto& array) { return array.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

const StateArray* MethodState::find(std::string_view name) const { return const_cast<MethodState*>(this)->find(name); }

StateArray& MethodState::array(std::string_view name, Dtype dtype, std::size_t count, bool own, MemorySpace& space) {
  if (StateArray* known = find(name)) return *known;
  return arrays.emplace_back(StateArray{
      .name = std::string(name), .dtype = dtype, .own = own, .bytes = MemoryBlock(count * size_of(dtype), space)});
}

Result<std::vector<std::byte>> MethodState::save() const {
  if (in_use) return busy();
  std::vector<std::byte> saved(sizeof(Header));
  Writer to(saved);
  for (std::uint64_t word : {sampler.seed, sampler.key, sampler.draw, runs, std::uint64_t{arrays.size()}}) to.put(word);
  for (const StateArray& array : arrays) {
    to.put(static_cast<std::uint64_t>(array.dtype) | std::uint64_t{array.own} << 8);
    to.put(array.name.size());
    to.put(array.bytes.size());
    to.put(std::as_bytes(std::span(array.name)));
    to.put(array.bytes);
  }
  const auto body = std::span<const std::byte>(saved).subspan(sizeof(Header));
  const Header header{mark, version, body.size(), digest_of(body)};
  std::memcpy(saved.data(), &header, sizeof header);
  return saved;
}

Status MethodState::restore(std::span<const std::byte> saved) {
  const auto refuse = [&](std::string why) {
    return Status(Code::InvalidArgument, fmt::format("{}: {}", count_of(saved.size(), "byte"), why));
  };
  if (in_use) return busy();
  Header header{};
  if (saved.size() >= sizeof header) std::memcpy(&header, saved.data(), sizeof header);
  if (header.mark != mark) return refuse("this is no saved state of a method");
  if (header.version != version) {
    return refuse(fmt::format("this state was saved as version {}; this library reads {}", header.version, version));
  }
  const auto body = saved.subspan(sizeof header);
  if (header.length != body.size()) {
    return refuse(fmt::format("this state must have {} and the {} of its header", header.length, sizeof header));
  }
  auto state = header.digest == digest_of(body) ? read_state(Reader(body)) : std::nullopt;
  if (!state) return refuse("this state is damaged");
  state->model = model;
  *this = std::move(*state);
  return {};
}

}  // namespace lacuna
