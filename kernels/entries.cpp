#include "kernels/entries.hpp"

#include <fmt/format.h>

#include "kernels/backend.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::kernels {
namespace {

template <class... Arguments>
Status wrong(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return {Code::Mismatch, fmt::format(text, std::forward<Arguments>(arguments)...)};
}

/// The name of a dtype from a message, which may be a number that no dtype has.
std::string name_of(Dtype dtype) {
  return static_cast<std::size_t>(dtype) < all_dtypes.size() ? std::string(to_string(dtype))
                                                             : fmt::format("dtype {}", static_cast<int>(dtype));
}

Status check(const EntriesHeader& header, Dtype dtype, std::size_t segment, std::size_t length) {
  if (static_cast<std::size_t>(header.format) >= all_formats.size()) {
    return wrong("entries in format {}, but there are only {} formats", static_cast<int>(header.format),
                 all_formats.size());
  }
  if (header.dtype != dtype) return wrong("entries of {} instead of {}", name_of(header.dtype), to_string(dtype));
  if (header.reserved != 0) return wrong("entries with {} where 0 is reserved", header.reserved);
  if (header.segment != segment) return wrong("entries of range {} instead of {}", header.segment, segment);
  if (header.length != length) return wrong("entries of {} instead of {}", count_of(header.length, "place"), length);
  if (header.entries > length) {
    return wrong("{} for {}", count_of(header.entries, "entry"), count_of(length, "place"));
  }
  return {};
}

}  // namespace

Result<EntriesView> view_of(const Backend& on, std::span<const std::byte> message, Dtype dtype, std::size_t segment,
                            std::size_t length) {
  if (message.size() < sizeof(EntriesHeader)) {
    return wrong("entries of {}, fewer than the {} of a header", count_of(message.size(), "byte"),
                 sizeof(EntriesHeader));
  }
  EntriesHeader header;
  on.read_header(message.data(), &header);
  if (Status sound = check(header, dtype, segment, length); !sound) return sound;
  const std::size_t bytes = message_bytes(header.format, dtype, header.entries, length);
  if (message.size() != bytes) {
    return wrong("{} instead of the {} of {} of {} as {}", count_of(message.size(), "byte"), bytes,
                 count_of(header.entries, "entry"), to_string(dtype),
                 format_names[static_cast<std::size_t>(header.format)]);
  }
  const std::byte* places = message.data() + sizeof(EntriesHeader);
  return EntriesView{.format = header.format,
                     .entries = header.entries,
                     .places = places,
                     .values = places + place_bytes(header.format, header.entries, length)};
}

}  // namespace lacuna::kernels
