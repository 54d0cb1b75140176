#include "kernels/elements.hpp"

namespace lacuna::kernels {

double load_number(Dtype dtype, const std::byte* array, std::size_t i) {
  return with_element(dtype, [&]<class T>(Element<T>) {
    const T element = load<T>(array, i);
    if constexpr (is_integer_element<T>) {
      return static_cast<double>(element);
    } else {
      return static_cast<double>(widen(element));
    }
  });
}

}  // namespace lacuna::kernels
