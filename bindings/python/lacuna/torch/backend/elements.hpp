#pragma once

#include <ATen/core/Tensor.h>
#include <lacuna/lacuna.h>

#include <cstddef>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace lacuna_c10d {

/// What the elements of a tensor are to lacuna.
struct Elements {
  lacuna_dtype dtype;
  std::size_t each;  ///< elements of `dtype` in one element of the tensor
};

/// How a tensor is reduced.
struct Reduction {
  Elements elements;
  lacuna_reduction reduction;
  bool divides;  ///< the result must then be divided by the number of ranks, by divide()
};

/// Elements of a call that only moves them. Types that lacuna does not know travel as bytes.
Elements moved_as(at::ScalarType type);

/// Elements and reduction of a call that reduces. Complex numbers are added as pairs of real ones. A bool stays true or
/// false: SUM and MAX say whether any is true, PRODUCT and MIN whether all are. AVG of integers is a sum to divide.
/// Throws, and names what is allowed, if lacuna cannot reduce this type by this operation.
Reduction reduced_as(at::ScalarType type, const c10d::ReduceOp& operation);

/// Divides the integers of a contiguous tensor, and drops what is behind the point.
void divide(const at::Tensor& sums, std::int64_t by);

/// The elements of a contiguous tensor as a buffer of lacuna.
lacuna_buffer buffer_of(const at::Tensor& tensor, const Elements& elements);

}  // namespace lacuna_c10d
