#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace lacuna::runtime {

/// Notes which bytes of a message have come, so that none is taken twice. It needs no memory while they come in order.
class Arrived {
 public:
  enum class Outcome : std::uint8_t {
    New,       ///< none of these bytes had come; they are noted
    Known,     ///< all of these bytes had come
    Overlaps,  ///< some of these bytes had come; nothing is noted
  };

  /// The bytes [begin, end) come. An empty message comes as 0 and 0.
  Outcome add(std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return std::exchange(begun_, true) ? Outcome::Known : Outcome::New;
    begun_ = true;
    if (begin != end_ || !beyond_.empty()) return add_out_of_order(begin, end);
    end_ = end;
    return Outcome::New;
  }
  /// Have all bytes of [begin, end) come? There is at least one.
  bool has(std::uint64_t begin, std::uint64_t end) const;
  /// Has the whole message come, which has this many bytes?
  bool all(std::uint64_t bytes) const { return begun_ && end_ == bytes; }
  void clear() {
    end_ = 0;
    begun_ = false;
    beyond_.clear();
  }

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  Outcome add_out_of_order(std::uint64_t begin, std::uint64_t end);

  std::uint64_t end_ = 0;  // all bytes before it have come
  bool begun_ = false;
  std::vector<Range> beyond_;  // later bytes that have come, in order, with gaps between
};

}  // namespace lacuna::runtime
