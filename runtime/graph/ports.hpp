#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/graph/buffers.hpp"
#include "runtime/graph/members.hpp"
#include "runtime/values/region.hpp"

/// The operands of kernels. A port is a member of a kernel's struct. The program of an algorithm gives it a region or a
/// value; when the kernel runs, the port refers to the memory or the number that stands there. The other members of
/// the struct are numbers that the program gives to the kernel.
namespace lacuna {

namespace port {

enum class Access : std::uint8_t { Read, Write, Use, Define };

/// What the program gives to a port, and what the running kernel finds there: a Region and its Extent, or a Value and
/// its number.
template <Access access>
struct Traits {
  using Given = Region;
  using Found = const Extent;
  static constexpr bool is_given(const Region& region) { return !region.is_signal(); }
};
template <>
struct Traits<Access::Use> {
  using Given = Value;
  using Found = const std::uint64_t;
  static constexpr bool is_given(Value value) { return value != Value::None; }
};
template <>
struct Traits<Access::Define> : Traits<Access::Use> {
  using Found = std::uint64_t;
};

/// A port of one operand. If it is given none, it is empty.
template <Access access>
class One {
 public:
  using Given = typename Traits<access>::Given;
  using Found = typename Traits<access>::Found;

  One() = default;
  One(const Given& given) : given_(given), is_given_(Traits<access>::is_given(given)) {}

  /// Has the program given anything?
  explicit operator bool() const { return is_given_; }
  /// While the graph is built: what the program has given.
  const Given& given() const { return given_; }
  /// While the kernel runs: the operand. The port must not be empty.
  Found& operator*() const { return *found_; }
  Found* operator->() const { return found_; }

  /// Calls visit(given) if the port is not empty.
  template <class Visit>
  void each_given(const Visit& visit) const {
    if (is_given_) visit(given_);
  }
  /// Frees the memory of what the program has given, of which one operand has none.
  void forget_given() {}
  /// Takes its operand from the operands of all ports, and advances `next` behind it.
  void find(Found*& next) {
    if (is_given_) found_ = next++;
  }

 private:
  Given given_{};
  bool is_given_ = false;
  Found* found_ = nullptr;
};

/// A port of any number of operands.
template <Access access>
class Many {
 public:
  using Given = typename Traits<access>::Given;
  using Found = typename Traits<access>::Found;

  Many() = default;
  Many(std::vector<Given> given) : given_(std::move(given)), count_(given_.size()) {}

  /// While the graph is built: what the program has given.
  const std::vector<Given>& given() const { return given_; }
  // The rest is for the running kernel.
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Found& operator[](std::size_t i) const { return found_[i]; }
  Found& front() const { return found_[0]; }
  Found* begin() const { return found_; }
  Found* end() const { return found_ + count_; }

  template <class Visit>
  void each_given(const Visit& visit) const {
    for (const Given& one : given_) visit(one);
  }
  void forget_given() { given_ = {}; }
  void find(Found*& next) {
    found_ = next;
    next += count_;
  }

 private:
  std::vector<Given> given_{};
  std::size_t count_ = 0;
  Found* found_ = nullptr;
};

template <class Member>
struct AccessOf;
template <Access access>
struct AccessOf<One<access>> : std::integral_constant<Access, access> {};
template <Access access>
struct AccessOf<Many<access>> : std::integral_constant<Access, access> {};

template <class Member>
concept Port = requires {
  AccessOf<Member>::value;
};

/// Calls visit(port, its access) for the ports of a kernel, in the order of its members. A member that is a struct
/// itself is visited in the same way.
template <class Struct, class Visit>
void each(Struct& kernel, const Visit& visit) {
  members::each(kernel, [&visit](auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (Port<Member>) {
      visit(member, AccessOf<Member>());
    } else if constexpr (std::is_class_v<Member> && std::is_aggregate_v<Member>) {
      each(member, visit);
    }
  });
}

}  // namespace port

/// A region that a kernel reads.
using Read = port::One<port::Access::Read>;
using Reads = port::Many<port::Access::Read>;
/// A region that a kernel writes; it may read it too.
using Write = port::One<port::Access::Write>;
using Writes = port::Many<port::Access::Write>;
/// A value that a kernel reads.
using Use = port::One<port::Access::Use>;
/// A value that a kernel defines. It is 0 until the kernel says otherwise.
using Define = port::One<port::Access::Define>;
using Defines = port::Many<port::Access::Define>;

}  // namespace lacuna
