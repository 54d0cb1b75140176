#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace lacuna::runtime {

/// Which bytes of a message have come, so that none is taken twice. Costs no memory while they come in order.
class Arrived {
 public:
  enum class Outcome : std::uint8_t {
    New,       ///< none of these bytes had come; they are noted
    Known,     ///< all of them had
    Overlaps,  ///< some of them had; nothing is noted
  };

  /// The bytes [begin, end) come; none of an empty message, as 0 and 0.
  Outcome add(std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return std::exchange(begun_, true) ? Outcome::Known : Outcome::New;
    begun_ = true;
    if (begin != end_ || !beyond_.empty()) return add_out_of_order(begin, end);
    end_ = end;
    return Outcome::New;
  }
  /// Have all of these bytes come, of which there is one at least?
  bool has(std::uint64_t begin, std::uint64_t end) const;
  /// Has the whole message come, which is so long?
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
  std::vector<Range> beyond_;  // others, in order, with gaps between
};

}  // namespace lacuna::runtime
