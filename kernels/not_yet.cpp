#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
void SpaceBackend::sum_of_squares(Source, double*) const {}
void SpaceBackend::feed_back(const FeedBack&, Target, std::byte*, const std::byte*) const {}
void SpaceBackend::largest(Source, std::uint64_t, std::byte*, Cut*) const {}
void SpaceBackend::estimate(Source, std::uint64_t, std::size_t, const Sampler&, std::byte*, std::byte*, Cut*) const {}
void SpaceBackend::count(Source, const Cut*, std::uint64_t*) const {}
void SpaceBackend::compact(Source, const Cut*, std::uint32_t, EntriesList, std::uint64_t*) const {}
void SpaceBackend::keep(const EntriesView&, const Cut*, EntriesList, Target, std::uint64_t*) const {}
void SpaceBackend::histogram(std::span<const std::uint32_t>, std::size_t, std::span<std::int64_t>) const {}
void SpaceBackend::clear_at(std::span<const std::uint32_t>, Target) const {}
void SpaceBackend::add_at(std::span<const std::uint32_t>, const std::byte*, Target) const {}
void SpaceBackend::gather(std::span<const std::uint32_t>, Source, std::byte*) const {}
void SpaceBackend::pack_bits(std::span<const std::uint32_t>, std::uint32_t, std::size_t, std::byte*) const {}
void SpaceBackend::unpack_bits(const std::byte*, std::size_t, std::uint32_t*, std::uint64_t*) const {}
void SpaceBackend::count_bits(const std::byte*, std::size_t, std::uint32_t*) const {}
void SpaceBackend::encode(const EntriesHeader&, const EntriesView&, std::byte*) const {}
void SpaceBackend::index(const EntriesView&, std::size_t, std::uint32_t*, std::uint64_t*) const {}
void SpaceBackend::sum(std::span<const EntriesView>, const std::uint32_t* const*, Scale, Target) const {}
void SpaceBackend::merge(std::span<const EntriesView>, const std::uint32_t* const*, Scale, std::size_t, Target,
                         EntriesList, std::uint64_t*) const {}
Result<EntriesView> view_of(std::span<const std::byte>, Dtype, std::size_t, std::size_t) { return EntriesView{}; }
}  // namespace lacuna::kernels
