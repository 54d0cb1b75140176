#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/mappable_heap.hpp"
#include "runtime/values/status.hpp"
#include "transports/doorbell.hpp"

namespace lacuna {

/// Memory in which the processes of a host show each other short data. In each turn every member writes one row, and
/// every member reads the rows of all. A row costs its writer one copy, however many read it. Turns are numbered from
/// 1, and a member writes its rows in their order.
/// Thread rule: one thread at a time may use the Board of a member. The members need no lock between them.
class Board {
 public:
  /// The most bytes that a row holds.
  static constexpr std::size_t row_bytes = 4096;
  /// A member may be so many turns ahead of the slowest reader.
  static constexpr std::uint64_t turns = 8;

  /// What a writer says of its bytes.
  struct Note {
    std::uint32_t run = 0;     ///< the number of the call
    std::uint32_t digest = 0;  ///< of what the call asks for

    friend bool operator==(const Note&, const Note&) = default;
  };
  struct Row {
    Note note;
    std::span<const std::byte> bytes;
  };

  /// The number of bytes of memory that a board of so many members takes.
  static std::size_t bytes_for(Rank members);
  /// Memory for members that are all in this process, filled with zeros.
  static std::shared_ptr<std::byte> local_memory(Rank members);
  /// Memory that other processes of this host can map, filled with zeros.
  struct Shared {
    std::shared_ptr<std::byte> memory;  ///< null: the system gives no such memory
    MappableSegment segment;            ///< what another process needs to map it
  };
  static Shared shared_memory(Rank members);
  /// Maps what shared_memory() has made in another process. The error says what the system does not allow.
  static Result<std::shared_ptr<std::byte>> map(const MappableSegment& segment, Rank members);

  /// The board as the member `own` sees it. The memory is the same for all members, held zeros at first, and has
  /// bytes_for(members) bytes, the first of them on a boundary of 64. The other members find `own_bell` on the board.
  Board(std::shared_ptr<std::byte> memory, Rank members, Rank own, const Doorbell::Address& own_bell = {});

  Rank members() const { return members_; }

  /// Writes the own row of the turn that follows the last one written. Returns false if a member may still read what
  /// the row would overwrite.
  bool write(const Note& note, std::span<const std::byte> bytes);
  /// Would write() return true?
  bool has_room() { return written_ < turns || all_have_passed(written_ + 1 - turns); }
  std::uint64_t written() const { return written_; }
  /// Has this member written its row of this turn? The own pass() must not have come to the turn yet.
  bool has_written(Rank member, std::uint64_t turn) const { return row_of(member, turn).turn.load() == turn; }
  /// The row of a member that has written it. It stays until the own pass() of this turn. A row whose length can't be
  /// is empty.
  Row row(Rank member, std::uint64_t turn) const;
  /// This member reads no row of this turn, or of an earlier one, any more.
  void pass(std::uint64_t turn);

  /// This member may fall asleep. The next member that writes or passes finds it in take_sleepers(). A look at the
  /// board must follow before it sleeps. If it does not sleep, or wakes by itself, it is woken needlessly once.
  void ask_to_be_woken();
  /// Returns the members that have asked to be woken, each once. This member must wake them after each write and pass,
  /// before it waits for anything. The result is valid until the next call.
  std::span<const Rank> take_sleepers() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (std::size_t word = 0; word < words_for(members_); ++word) {
      if (sleepers(word).load() != 0) return take_known_sleepers();
    }
    return {};
  }
  /// The doorbell that wakes this member. It may be read once the member has asked to be woken.
  const Doorbell::Address& bell_of(Rank member) const { return line_of(member).bell; }
  /// This member does not look at the board any more, so that it need not be woken.
  void leave() { line_of(own_).has_left.store(true); }
  bool has_left(Rank member) const { return line_of(member).has_left.load(); }

 private:
  static constexpr std::size_t line = 64;

  struct RowHead {
    std::atomic<std::uint64_t> turn;
    Note note;
    std::uint32_t bytes;
  };
  static constexpr std::size_t row_room = line + row_bytes;
  static constexpr std::size_t beside_head = line - sizeof(RowHead);  // so many bytes come with the first line
  struct alignas(line) Member {
    std::atomic<std::uint64_t> passed;  // a turn
    std::atomic<bool> has_left;
    Doorbell::Address bell;
  };
  using Sleepers = std::atomic<std::uint64_t>;  // a bit for each member

  static std::size_t words_for(Rank members) { return (static_cast<std::size_t>(members) + 63) / 64; }
  static std::size_t sleepers_room(Rank members);
  RowHead& row_of(Rank member, std::uint64_t turn) const {
    const std::size_t number = static_cast<std::size_t>(member) * turns + turn % turns;
    return *reinterpret_cast<RowHead*>(rows_ + number * row_room);
  }
  /// Long rows begin on a line of their own, so that no vector lies on two lines.
  static std::byte* bytes_of(RowHead& row, std::size_t bytes) {
    return reinterpret_cast<std::byte*>(&row) + (bytes <= beside_head ? sizeof(RowHead) : line);
  }
  Member& line_of(Rank member) const { return reinterpret_cast<Member*>(lines_)[member]; }
  Sleepers& sleepers(std::size_t word) const { return reinterpret_cast<Sleepers*>(memory_.get())[word]; }
  std::uint64_t own_bit() const { return std::uint64_t{1} << own_ % 64; }
  bool all_have_passed(std::uint64_t turn);
  std::span<const Rank> take_known_sleepers();
  static void copy(std::span<const std::byte> from, std::byte* to);

  const std::shared_ptr<std::byte> memory_;
  const Rank members_, own_;
  std::byte* const lines_;
  std::byte* const rows_;
  std::uint64_t written_ = 0;
  std::uint64_t known_passed_ = 0;  // all members have passed this turn
  std::vector<Rank> woken_;
};

}  // namespace lacuna
