#include "tests/support/device_calls.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace lacuna::test {
namespace {

constexpr std::size_t guard_bytes = 64;
constexpr std::byte pattern{0x5a};

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "a call on a device %s\n", what);
  std::abort();
}

}  // namespace

DeviceCalls::~DeviceCalls() {
  for (Pending& pending : pending_) give_back(pending, false);
}

/// Buffers that touch become one piece.
template <class T>
void DeviceCalls::move(Pending& to, T*& pointer, std::size_t bytes, bool written) {
  if (!pointer) return;
  auto* const own = reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(pointer));
  for (auto& piece : to.pieces) {
    if (own < piece->own || own + bytes > piece->own + piece->bytes) continue;
    piece->written = piece->written || written;
    pointer = reinterpret_cast<T*>(piece->copy + (own - piece->own));
    return;
  }
  Piece& piece = *to.pieces.emplace_back(std::make_unique<Piece>());
  piece.own = own;
  piece.bytes = bytes;
  piece.written = written;
  piece.before.assign(own, own + bytes);
  piece.block_bytes = bytes + 3 * guard_bytes;
  piece.block = device_.device().memory().take(piece.block_bytes);
  piece.copy = piece.block + guard_bytes + reinterpret_cast<std::uintptr_t>(own) % guard_bytes;
  pointer = reinterpret_cast<T*>(piece.copy);
}

Call DeviceCalls::moved(const Call& call, Rank rank, Rank size) {
  Call there = call;
  Pending& pending = pending_.emplace_back();
  const std::size_t width = size_of(call.dtype);
  const bool reads = reads_input(call.collective, rank, call.root);
  const bool writes = writes_output(call.collective, rank, call.root);
  const InputEntries& given = call.input_entries;
  const OutputEntries& asked = call.output_entries;
  const std::size_t in = !reads ? 0 : width * (given.places ? given.count * given.length : input_length(call, size));
  const std::size_t out = !writes ? 0 : width * (asked.places ? asked.room * asked.length : output_length(call, size));
  auto input = static_cast<const std::byte*>(call.input);
  auto output = static_cast<std::byte*>(call.output);
  if (in > out) {  // the longer one may hold the other one
    move(pending, input, in, false);
    move(pending, output, out, true);
  } else {
    move(pending, output, out, true);
    move(pending, input, in, false);
  }
  there.input = input;
  there.output = output;
  if (given.places) move(pending, there.input_entries.places, given.count * sizeof(std::uint32_t), false);
  if (asked.places) move(pending, there.output_entries.places, asked.room * sizeof(std::uint32_t), true);
  there.memory = {.kind = MemoryKind::Cuda, .device = device_.device().number(), .stream = device_.stream()};
  for (auto& piece : pending.pieces) {
    device_.write_late(piece->block, piece->block_bytes, pattern, piece->copy, piece->before.data(), piece->bytes);
  }
  return there;
}

void DeviceCalls::note_run(const runtime::Run* run) {
  pending_.back().run = run;
  if (run) return;
  give_back(pending_.back(), false);
  pending_.pop_back();
}

void DeviceCalls::bring_back() {
  for (std::size_t i = 0; i < pending_.size();) {
    const runtime::Run& run = *pending_[i].run;
    if (!run.finished || run.operations > 0) {
      ++i;
      continue;
    }
    give_back(pending_[i], run.status.is_ok());
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void DeviceCalls::give_back(Pending& pending, bool with_results) {
  device_.finish();  // nothing may write to the pieces any more
  for (auto& piece : pending.pieces) {
    std::vector<std::byte> block(piece->block_bytes);
    device_.read(block.data(), piece->block, block.size());
    const auto begin = block.begin() + (piece->copy - piece->block);
    const auto end = begin + static_cast<std::ptrdiff_t>(piece->bytes);
    const auto is_guard = [](std::byte one) { return one == pattern; };
    if (with_results) {
      if (!std::all_of(block.begin(), begin, is_guard) || !std::all_of(end, block.end(), is_guard)) {
        die("has written beside its buffers");
      }
      if (!piece->written && !std::equal(begin, end, piece->before.begin())) die("has changed its input");
      if (piece->written) std::copy(begin, end, piece->own);
    }
    device_.device().memory().give_back(piece->block, piece->block_bytes);
  }
  pending.pieces.clear();
}

}  // namespace lacuna::test
