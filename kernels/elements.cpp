#include "kernels/elements.hpp"

namespace lacuna::kernels {

double load_number(Dtype dtype, const std::byte* array, std::size_t i) {
  double number = 0;
  with_element(dtype, [&]<class T>(Element<T>) {
    const T element = load<T>(array, i);
    if constexpr (is_integer_element<T>) {
      number = static_cast<double>(element);
    } else {
      number = static_cast<double>(widen(element));
    }
  });
  return number;
}

double number_of_magnitude(Dtype dtype, std::uint64_t magnitude) {
  std::byte bits[sizeof(magnitude)];
  std::memcpy(bits, &magnitude, sizeof(magnitude));  // the lower bytes come first, so that the element is at the start
  return load_number(dtype, bits, 0);
}

std::uint64_t magnitude_of(Dtype dtype, double number) {
  std::uint64_t magnitude = 0;
  with_floating_element(dtype, [&]<class T>(Element<T>) {
    const T element = narrow<T>(static_cast<WideOf<T>>(number));
    std::memcpy(&magnitude, &element, sizeof(T));
  });
  return magnitude > 0 && number_of_magnitude(dtype, magnitude) > number ? magnitude - 1 : magnitude;
}

}  // namespace lacuna::kernels
