#include "kernels/reduce.hpp"

#include "kernels/dispatch.hpp"

namespace lacuna::kernels {
namespace {

struct Operands {
  std::byte* out;
  const std::byte* a;
  const std::byte* b;
  std::size_t count;
};

template <class T, class Operation>
void reduce_by(Scale scale, const Operands& on) {
  using Wide = typename ReduceKernel<T, Operation, false>::Wide;
  if constexpr (!is_integer_element<T>) {
    if (!scale.is_one()) {
      dispatch(on.count, ReduceKernel<T, Operation, true>{on.out, on.a, on.b, static_cast<Wide>(scale.multiplier),
                                                          static_cast<Wide>(scale.divisor)});
      return;
    }
  }
  dispatch(on.count, ReduceKernel<T, Operation, false>{on.out, on.a, on.b, Wide{1}, Wide{1}});
}

template <class T>
void reduce_as(Reduction reduction, Scale scale, const Operands& on) {
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Avg:
      return reduce_by<T, SumOf>(scale, on);
    case Reduction::Min:
      return reduce_by<T, MinimumOf>(scale, on);
    case Reduction::Max:
      return reduce_by<T, MaximumOf>(scale, on);
    case Reduction::Prod:
      return reduce_by<T, ProductOf>(scale, on);
  }
}

template <class T>
void scale_as(Scale scale, std::byte* out, const std::byte* in, std::size_t count) {
  using Wide = typename ScaleKernel<T>::Wide;
  dispatch(count, ScaleKernel<T>{out, in, static_cast<Wide>(scale.multiplier), static_cast<Wide>(scale.divisor)});
}

}  // namespace

void reduce(Dtype dtype, Reduction reduction, Scale scale, std::byte* out, const std::byte* a, const std::byte* b,
            std::size_t count) {
  const Operands on{out, a, b, count};
  switch (dtype) {
    case Dtype::F32:
      return reduce_as<float>(reduction, scale, on);
    case Dtype::F64:
      return reduce_as<double>(reduction, scale, on);
    case Dtype::BF16:
      return reduce_as<bf16>(reduction, scale, on);
    case Dtype::F16:
      return reduce_as<f16>(reduction, scale, on);
    case Dtype::I32:
      return reduce_as<std::int32_t>(reduction, scale, on);
    case Dtype::I64:
      return reduce_as<std::int64_t>(reduction, scale, on);
    case Dtype::U8:
      return reduce_as<std::uint8_t>(reduction, scale, on);
  }
}

void copy(Dtype dtype, Scale scale, std::byte* out, const std::byte* in, std::size_t count) {
  if (scale.is_one() || is_integer(dtype)) {
    if (out != in && count != 0) std::memmove(out, in, count * size_of(dtype));
    return;
  }
  switch (dtype) {
    case Dtype::F32:
      return scale_as<float>(scale, out, in, count);
    case Dtype::F64:
      return scale_as<double>(scale, out, in, count);
    case Dtype::BF16:
      return scale_as<bf16>(scale, out, in, count);
    case Dtype::F16:
      return scale_as<f16>(scale, out, in, count);
    default:
      return;
  }
}

double load_number(Dtype dtype, const std::byte* array, std::size_t i) {
  switch (dtype) {
    case Dtype::F32:
      return load<float>(array, i);
    case Dtype::F64:
      return load<double>(array, i);
    case Dtype::BF16:
      return to_float(load<bf16>(array, i));
    case Dtype::F16:
      return to_float(load<f16>(array, i));
    case Dtype::I32:
      return load<std::int32_t>(array, i);
    case Dtype::I64:
      return static_cast<double>(load<std::int64_t>(array, i));
    case Dtype::U8:
      return load<std::uint8_t>(array, i);
  }
  return 0;
}

}  // namespace lacuna::kernels
