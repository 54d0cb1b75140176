#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/method/method.hpp"

namespace lacuna::test {

/// The options of a method of tests, by which an allreduce of i64 sends its numbers that are not zero with their
/// places. Where more than `most` of them came together, a part follows that adds the first ones of the result to it
/// once more: as many as are not zero.
struct SparseSum {
  std::int64_t most = 1'000'000;
  bool stays = false;  ///< this rank lets nothing follow: not equal on all ranks, as it must be
};

/// The parameters of its program.
struct SparseSumForm {
  bool second = false;  ///< of the part that follows
  friend bool operator==(const SparseSumForm&, const SparseSumForm&) = default;
};
inline constexpr Parameter sparse_sum_parameters[] = {
    parameter::of<&SparseSumForm::second>("second", {0, 1}, "of the part that follows")};

extern const Algorithm sparse_sum;
extern const Method sparse_sum_method;

/// In place of Options::method.
MethodOptions sparse_sum_options(const SparseSum& options = {});

/// What it makes of these inputs, part by part of the given number of parts.
std::vector<std::int64_t> sparse_sum_of(const std::vector<std::vector<std::int64_t>>& inputs, std::int64_t most,
                                        std::size_t parts = 1);

}  // namespace lacuna::test

template <>
inline constexpr std::span<const lacuna::Parameter> lacuna::declared_parameters<lacuna::test::SparseSumForm>{
    lacuna::test::sparse_sum_parameters};
