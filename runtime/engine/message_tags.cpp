#include "runtime/engine/message_tags.hpp"

#include <fmt/format.h>

namespace lacuna::runtime {

std::string text_of_tag(std::uint32_t tag) {
  if (!is_of_exchange(tag)) return fmt::format("tag {}", tag);
  return fmt::format("tag {} of a neighbour exchange, direction {}",
                     tag & static_cast<std::uint32_t>(largest_exchange_tag),
                     tag >> 16 & static_cast<std::uint32_t>(largest_direction));
}

}  // namespace lacuna::runtime
