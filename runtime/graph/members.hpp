#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

/// Visits the members of a plain struct in their order, so that nobody has to list them a second time.
namespace lacuna::members {

inline constexpr std::size_t most = 12;

/// Stands for the initializer of any member of a Struct.
template <class Struct>
struct Any {
  template <class Member>
  requires(!std::is_same_v<Member, Struct>) operator Member() const;
};

template <class Struct, std::size_t... index>
constexpr bool has_at_least(std::index_sequence<index...>) {
  return requires { Struct{(static_cast<void>(index), Any<Struct>())...}; };
}

/// How many members the struct has.
template <class Struct, std::size_t guess = most + 1>
constexpr std::size_t count() {
  if constexpr (guess == 0 || has_at_least<Struct>(std::make_index_sequence<guess>())) {
    return guess;
  } else {
    return count<Struct, guess - 1>();
  }
}

/// Calls visit(member) for each member of the struct, in order.
template <class Struct, class Visit>
constexpr void each(Struct& all, const Visit& visit) {
  constexpr std::size_t members = count<std::remove_const_t<Struct>>();
  static_assert(members <= most, "a struct of more members than can be visited: group some of them");
  const auto visit_all = [&visit](auto&... member) { (visit(member), ...); };
  if constexpr (members == 1) {
    auto& [a] = all;
    visit_all(a);
  } else if constexpr (members == 2) {
    auto& [a, b] = all;
    visit_all(a, b);
  } else if constexpr (members == 3) {
    auto& [a, b, c] = all;
    visit_all(a, b, c);
  } else if constexpr (members == 4) {
    auto& [a, b, c, d] = all;
    visit_all(a, b, c, d);
  } else if constexpr (members == 5) {
    auto& [a, b, c, d, e] = all;
    visit_all(a, b, c, d, e);
  } else if constexpr (members == 6) {
    auto& [a, b, c, d, e, f] = all;
    visit_all(a, b, c, d, e, f);
  } else if constexpr (members == 7) {
    auto& [a, b, c, d, e, f, g] = all;
    visit_all(a, b, c, d, e, f, g);
  } else if constexpr (members == 8) {
    auto& [a, b, c, d, e, f, g, h] = all;
    visit_all(a, b, c, d, e, f, g, h);
  } else if constexpr (members == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = all;
    visit_all(a, b, c, d, e, f, g, h, i);
  } else if constexpr (members == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = all;
    visit_all(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (members == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = all;
    visit_all(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (members == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = all;
    visit_all(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}

}  // namespace lacuna::members
