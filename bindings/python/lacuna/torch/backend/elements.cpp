#include "elements.hpp"

#include <ATen/Dispatch_v2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace lacuna_c10d {
namespace {

constexpr std::array types{
    std::pair(at::ScalarType::Float, LACUNA_F32),        std::pair(at::ScalarType::Double, LACUNA_F64),
    std::pair(at::ScalarType::BFloat16, LACUNA_BF16),    std::pair(at::ScalarType::Half, LACUNA_F16),
    std::pair(at::ScalarType::Int, LACUNA_I32),          std::pair(at::ScalarType::Long, LACUNA_I64),
    std::pair(at::ScalarType::Byte, LACUNA_U8),          std::pair(at::ScalarType::Char, LACUNA_I8),
    std::pair(at::ScalarType::Short, LACUNA_I16),        std::pair(at::ScalarType::UInt16, LACUNA_U16),
    std::pair(at::ScalarType::UInt32, LACUNA_U32),       std::pair(at::ScalarType::UInt64, LACUNA_U64),
    std::pair(at::ScalarType::ComplexFloat, LACUNA_C64), std::pair(at::ScalarType::ComplexDouble, LACUNA_C128),
    std::pair(at::ScalarType::Bool, LACUNA_U8),
};

constexpr std::array operations{
    std::pair(c10d::ReduceOp::SUM, std::pair(LACUNA_SUM, "SUM")),
    std::pair(c10d::ReduceOp::AVG, std::pair(LACUNA_AVG, "AVG")),
    std::pair(c10d::ReduceOp::MIN, std::pair(LACUNA_MIN, "MIN")),
    std::pair(c10d::ReduceOp::MAX, std::pair(LACUNA_MAX, "MAX")),
    std::pair(c10d::ReduceOp::PRODUCT, std::pair(LACUNA_PROD, "PRODUCT")),
};

std::optional<lacuna_dtype> dtype_of(at::ScalarType type) {
  const auto* const found =
      std::find_if(types.begin(), types.end(), [&](const auto& row) { return row.first == type; });
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

std::string names_of_types() {
  std::string names;
  for (const auto& [type, dtype] : types) names += (names.empty() ? "" : ", ") + std::string(c10::toString(type));
  return names;
}

lacuna_reduction reduction_of(const c10d::ReduceOp& operation) {
  std::string names;
  for (const auto& [mine, row] : operations) {
    if (operation.op_ == mine) return row.first;
    names += (names.empty() ? "" : ", ") + std::string(row.second);
  }
  static constexpr std::array others{"BAND", "BOR", "BXOR", "PREMUL_SUM"};
  const auto place = static_cast<std::size_t>(operation.op_) - c10d::ReduceOp::BAND;
  TORCH_CHECK(false, "lacuna: the reduction is ", place < others.size() ? others[place] : "unknown",
              ", must be one of ", names);
}

lacuna_reduction reduction_of_bools(lacuna_reduction reduction) {
  TORCH_CHECK(reduction != LACUNA_AVG,
              "lacuna: the elements are Bool, and the reduction is AVG, must be one of SUM, MIN, "
              "MAX, PRODUCT");
  if (reduction == LACUNA_SUM) return LACUNA_MAX;
  return reduction == LACUNA_PROD ? LACUNA_MIN : reduction;
}

}  // namespace

Elements moved_as(at::ScalarType type) {
  if (const auto dtype = dtype_of(type)) return {*dtype, 1};
  return {LACUNA_U8, c10::elementSize(type)};
}

Reduction reduced_as(at::ScalarType type, const c10d::ReduceOp& operation) {
  const lacuna_reduction reduction = reduction_of(operation);
  const bool adds = reduction == LACUNA_SUM || reduction == LACUNA_AVG;
  if (c10::isComplexType(type) && adds) {
    return {{*dtype_of(c10::toRealValueType(type)), 2}, reduction, false};
  }
  const auto dtype = dtype_of(type);
  TORCH_CHECK(dtype, "lacuna: the elements are ", c10::toString(type), ", and lacuna reduces ", names_of_types());
  if (type == at::ScalarType::Bool) return {{*dtype, 1}, reduction_of_bools(reduction), false};
  const bool divides = reduction == LACUNA_AVG && c10::isIntegralType(type, false);
  return {{*dtype, 1}, divides ? LACUNA_SUM : reduction, divides};
}

void divide(const at::Tensor& sums, std::int64_t by) {
  AT_DISPATCH_V2(sums.scalar_type(), "lacuna_divide", AT_WRAP([&] {
                   using Wide = std::conditional_t<std::is_signed_v<scalar_t>, std::int64_t, std::uint64_t>;
                   auto* const data = static_cast<scalar_t*>(sums.data_ptr());
                   std::transform(data, data + sums.numel(), data, [&](scalar_t sum) {
                     return static_cast<scalar_t>(static_cast<Wide>(sum) / static_cast<Wide>(by));
                   });
                 }),
                 AT_EXPAND(AT_INTEGRAL_TYPES), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES));
}

lacuna_buffer buffer_of(const at::Tensor& tensor, const Elements& elements) {
  lacuna_buffer buffer = LACUNA_BUFFER_INIT;
  buffer.data = tensor.data_ptr();
  buffer.count = static_cast<std::size_t>(tensor.numel()) * elements.each;
  buffer.dtype = elements.dtype;
  return buffer;
}

}  // namespace lacuna_c10d
