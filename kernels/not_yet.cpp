#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
Status serve_by(std::string_view) { return {}; }
}  // namespace lacuna::kernels
