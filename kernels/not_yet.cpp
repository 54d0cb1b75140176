#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
void SpaceBackend::pack_bits(std::span<const std::uint32_t>, std::uint32_t, std::size_t, std::byte*) const {}
void SpaceBackend::unpack_bits(const std::byte*, std::size_t, std::uint32_t*, std::uint64_t*) const {}
void SpaceBackend::count_bits(const std::byte*, std::size_t, std::uint32_t*) const {}
void SpaceBackend::encode(const EntriesHeader&, const EntriesView&, std::byte*) const {}
void SpaceBackend::index(const EntriesView&, std::size_t, std::uint32_t*, std::uint64_t*) const {}
void SpaceBackend::sum(std::span<const EntriesView>, const std::uint32_t* const*, Scale, Target) const {}
void SpaceBackend::merge(std::span<const EntriesView>, const std::uint32_t* const*, Scale, std::size_t, Target,
                         EntriesList, std::uint64_t*) const {}
Status serve_by(std::string_view) { return {}; }
Result<EntriesView> view_of(std::span<const std::byte>, Dtype, std::size_t, std::size_t) { return EntriesView{}; }
}  // namespace lacuna::kernels
