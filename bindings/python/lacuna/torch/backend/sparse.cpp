#include <c10/util/accumulate.h>

#include <limits>
#include <string>

#include "backend.hpp"
#include "errors.hpp"

namespace lacuna_c10d {
namespace {

/// A sparse tensor as rows: a row is what one index of the sparse dimensions holds.
struct Rows {
  at::Tensor places;           // int32 whose bits are those of uint32: the number of each row that is there
  at::Tensor values;           // a row for each place
  std::int64_t count;          // rows of the whole tensor
  std::int64_t length;         // elements of a row
  at::IntArrayRef dimensions;  // of the sparse dimensions
};

/// The number of each row: the last sparse dimension changes fastest.
at::Tensor numbers_of(const at::Tensor& indices, at::IntArrayRef dimensions) {
  at::Tensor numbers = at::zeros({indices.size(1)}, indices.options());
  for (std::size_t d = 0; d < dimensions.size(); ++d) numbers.mul_(dimensions[d]).add_(indices.select(0, d));
  return numbers.to(at::kInt);
}

/// The inverse of numbers_of().
at::Tensor indices_of(const at::Tensor& places, at::IntArrayRef dimensions) {
  at::Tensor numbers = places.to(at::kLong).bitwise_and_(std::numeric_limits<std::uint32_t>::max());
  at::Tensor indices = at::empty({static_cast<std::int64_t>(dimensions.size()), numbers.numel()}, numbers.options());
  for (std::size_t d = dimensions.size(); d-- > 0;) {
    indices.select(0, d).copy_(numbers.remainder(dimensions[d]));
    numbers = numbers.div(dimensions[d], "floor");
  }
  return indices;
}

Rows rows_of(const at::Tensor& tensor) {
  const at::IntArrayRef dimensions = tensor.sizes().slice(0, tensor.sparse_dim());
  const std::int64_t count = c10::multiply_integers(dimensions);
  const std::int64_t length = c10::multiply_integers(tensor.sizes().slice(tensor.sparse_dim()));
  TORCH_CHECK(count <= std::numeric_limits<std::uint32_t>::max(), "lacuna: the sparse dimensions have ", count,
              " places, must be at most ", std::numeric_limits<std::uint32_t>::max());
  return {numbers_of(tensor._indices(), dimensions), tensor._values().contiguous(), count, length, dimensions};
}

lacuna_entries entries_of(const at::Tensor& places, const Rows& rows, std::size_t each) {
  lacuna_entries entries = LACUNA_ENTRIES_INIT;
  entries.places = static_cast<std::uint32_t*>(places.data_ptr());
  entries.length = static_cast<std::size_t>(rows.count * rows.length) * each;
  return entries;
}

}  // namespace

WorkPointer Backend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const at::Tensor tensor = only(tensors);
  TORCH_CHECK(tensor.device().is_cpu(), "lacuna: the tensor is on ", tensor.device(), ", must be on cpu");
  const auto [elements, reduction, divides] = reduced_as(tensor.scalar_type(), options.reduceOp);
  TORCH_CHECK(
      reduction == LACUNA_SUM || reduction == LACUNA_AVG,
      "lacuna: sparse tensors are reduced by SUM and AVG only, because others have no value for what is not there");
  Task task = task_of(c10d::OpType::ALLREDUCE, "sparse_all_reduce", {}, tensors, options);
  const Rows rows = rows_of(tensor);
  if (rows.count * rows.length == 0) return start(std::move(task), Call(LACUNA_BARRIER));

  // Room for all rows. The system gives memory to those only that arrive.
  at::Tensor values = at::empty({rows.count, rows.length}, rows.values.options());
  at::Tensor places = at::empty({rows.count}, rows.places.options());
  const auto found = std::make_shared<std::size_t>(0);
  task.memory = {rows.places, rows.values, values, places};
  task.objects = {found};

  const std::string block = "blocks:block=" + std::to_string(rows.length * static_cast<std::int64_t>(elements.each));
  const auto method = make_method(block);
  const lacuna_entries given = entries_of(rows.places, rows, elements.each);
  lacuna_entries got = entries_of(places, rows, elements.each);
  got.found = found.get();
  Call call(LACUNA_ALLREDUCE);
  call.reads(rows.values, elements).writes(values, elements).reduction = reduction;
  call.input_entries = &given;
  call.output_entries = &got;
  task.endings.emplace_back([tensor, values, places, found, divisor = divides ? getSize() : 1] {
    const at::AutoDispatchBelowADInplaceOrView inside;
    const auto count = static_cast<std::int64_t>(*found);
    if (divisor > 1) divide(values.narrow(0, 0, count), divisor);
    const at::IntArrayRef sizes = tensor.sizes();
    std::vector<std::int64_t> shape{count};
    shape.insert(shape.end(), sizes.begin() + tensor.sparse_dim(), sizes.end());
    const at::Tensor indices = indices_of(places.narrow(0, 0, count), sizes.slice(0, tensor.sparse_dim()));
    const at::Tensor sum = at::_sparse_coo_tensor_unsafe(indices, values.narrow(0, 0, count).clone().view(shape), sizes,
                                                         tensor.options(), true);
    tensor.copy_(sum);
  });
  return start(std::move(task), call, method.get());
}

}  // namespace lacuna_c10d
