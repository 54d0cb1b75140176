#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/method/method.hpp"

namespace lacuna::test {

/// The options of a method for tests. Its allreduce of i64 sends the numbers that are not zero, with their places. If
/// more than `most` of them come together, a part follows. It adds the first numbers of the result to it once more, as
/// many as are not zero.
struct SparseSum {
  std::int64_t most = 1'000'000;
  bool stays = false;  ///< on this rank no part follows; this is a fault, because it must be equal on all ranks
};

/// The parameters of the method's program.
struct SparseSumForm {
  bool second = false;  ///< true in the part that follows
  friend bool operator==(const SparseSumForm&, const SparseSumForm&) = default;
};
inline constexpr Parameter sparse_sum_parameters[] = {
    parameter::of<&SparseSumForm::second>("second", {0, 1}, "of the part that follows")};

extern const Algorithm sparse_sum;
extern const Method sparse_sum_method;

/// The method with these options, for Options::method.
MethodOptions sparse_sum_options(const SparseSum& options = {});

/// What the method must make of these inputs, in a call that is cut into the given number of parts.
std::vector<std::int64_t> sparse_sum_of(const std::vector<std::vector<std::int64_t>>& inputs, std::int64_t most,
                                        std::size_t parts = 1);

}  // namespace lacuna::test

template <>
inline constexpr std::span<const lacuna::Parameter> lacuna::declared_parameters<lacuna::test::SparseSumForm>{
    lacuna::test::sparse_sum_parameters};
