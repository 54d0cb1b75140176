#pragma once

#include <array>

#include "runtime/method/method.hpp"

namespace lacuna::test {

/// How many measures told_method has. This is more than any other method has.
inline constexpr std::size_t told_measures = 16;

/// A method whose calls tell what a test puts into their input: an allreduce of f64 that copies, part by part of
/// `told_measures` elements. The kernel of a part tells the element i to measure i. The first measure is the plan's and
/// tells the number of parts. The others add up as AddsUp says, in turn: the first is a sum, the next a largest value
/// ...
extern const Method told_method;
/// The same method without measures: what its kernels tell is dropped.
extern const Method untold_method;
extern const std::array<Measure, told_measures> told_rows;

/// The method, for Options::method.
MethodOptions told_options(const Method& method = told_method);
/// The algorithm that serves both methods.
extern const Algorithm told_algorithm;

}  // namespace lacuna::test
