#include "transports/board.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "transports/mapped_segment.hpp"

namespace lacuna {

// The memory begins with a bit for each member that has asked to be woken. Then come a line for each member, and the
// rows of each member. A member that wants to sleep sets its bit, and then looks for the row that it waits for. The
// writer of that row writes it, and then looks at the bits. Each has a fence between its two actions, the writer in
// take_sleepers(). So the member sees the row, or the writer sees the bit. write() and pass() need no fence.

std::size_t Board::sleepers_room(Rank members) {
  return (words_for(members) * sizeof(Sleepers) + line - 1) / line * line;
}

std::size_t Board::bytes_for(Rank members) {
  return sleepers_room(members) + static_cast<std::size_t>(members) * (sizeof(Member) + turns * row_room);
}

std::shared_ptr<std::byte> Board::local_memory(Rank members) {
  constexpr std::align_val_t boundary{line};
  void* const memory = ::operator new(bytes_for(members), boundary);
  std::memset(memory, 0, bytes_for(members));
  return {static_cast<std::byte*>(memory), [](std::byte* begin) { ::operator delete(begin, boundary); }};
}

Board::Shared Board::shared_memory(Rank members) {
  const std::size_t bytes = bytes_for(members);
  const auto heap = std::make_shared<MappableHeap>(0, bytes);
  std::byte* const memory = heap->take(bytes);
  const auto place = heap->find({memory, bytes});
  if (!place) {
    heap->give_back(memory, bytes);
    return {};
  }
  // The end of the heap unmaps the memory, and leaves it as it is for members that still look at it. give_back() would
  // clear it.
  return {std::shared_ptr<std::byte>(heap, memory), heap->segment(place->segment)};
}

Result<std::shared_ptr<std::byte>> Board::map(const MappableSegment& segment, Rank members) {
  auto mapped = MappedSegment::map(segment, MappedSegment::Use::Writing);
  if (!mapped) return mapped.status();
  if (mapped->bytes().size() < bytes_for(members)) return Status(Code::Transport, "the board is too short");
  const auto owner = std::make_shared<MappedSegment>(std::move(*mapped));
  return std::shared_ptr<std::byte>(owner, owner->writable());
}

Board::Board(std::shared_ptr<std::byte> memory, Rank members, Rank own, const Doorbell::Address& own_bell)
    : memory_(std::move(memory)),
      members_(members),
      own_(own),
      lines_(memory_.get() + sleepers_room(members)),
      rows_(lines_ + static_cast<std::size_t>(members) * sizeof(Member)) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these");
  woken_.reserve(static_cast<std::size_t>(members));
  line_of(own).bell = own_bell;
}

bool Board::all_have_passed(std::uint64_t turn) {
  if (known_passed_ >= turn) return true;
  std::uint64_t slowest = UINT64_MAX;
  for (Rank member = 0; member < members_; ++member) {
    slowest = std::min(slowest, line_of(member).passed.load());
  }
  known_passed_ = slowest;
  return slowest >= turn;
}

/// Copies long rows in pieces. A memcpy of more bytes takes longer on lines that other members have read
/// (docs/performance.md). Compilers make string instructions of these pieces. Such instructions begin too slowly for
/// short rows.
void Board::copy(std::span<const std::byte> from, std::byte* to) {
  constexpr std::size_t piece = 2048, longest_short = 1024;
  if (from.size() <= longest_short) {
    if (!from.empty()) std::memmove(to, from.data(), from.size());  // an empty row may have no address
    return;
  }
  for (; !from.empty(); from = from.subspan(std::min(piece, from.size()))) {
    std::memcpy(to, from.data(), std::min(piece, from.size()));
    to += piece;
  }
}

bool Board::write(const Note& note, std::span<const std::byte> bytes) {
  if (!has_room()) return false;
  const std::uint64_t turn = written_ + 1;
  RowHead& row = row_of(own_, turn);
  copy(bytes, bytes_of(row, bytes.size()));
  row.note = note;
  row.bytes = static_cast<std::uint32_t>(bytes.size());
  row.turn.store(turn, std::memory_order_release);
  written_ = turn;
  return true;
}

Board::Row Board::row(Rank member, std::uint64_t turn) const {
  RowHead& row = row_of(member, turn);
  return {row.note, {bytes_of(row, row.bytes), row.bytes <= row_bytes ? row.bytes : 0}};
}

void Board::pass(std::uint64_t turn) { line_of(own_).passed.store(turn, std::memory_order_release); }

void Board::ask_to_be_woken() { sleepers(static_cast<std::size_t>(own_) / 64).fetch_or(own_bit()); }

std::span<const Rank> Board::take_known_sleepers() {
  woken_.clear();
  for (std::size_t word = 0; word < words_for(members_); ++word) {
    const std::uint64_t own = word == static_cast<std::size_t>(own_) / 64 ? own_bit() : 0;  // another thread's
    if ((sleepers(word).load() & ~own) == 0) continue;
    for (std::uint64_t bits = sleepers(word).fetch_and(own) & ~own; bits != 0; bits &= bits - 1) {
      const auto member = static_cast<Rank>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      if (member < members_) woken_.push_back(member);
    }
  }
  return woken_;
}

}  // namespace lacuna
