#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace lacuna::test {

/// What generated tests try of what they vary: each value of each factor, or every two values of every two factors.
enum class Cover : std::uint8_t { Values, Pairs };

/// Pairs. Sanitizers look at each step and make it ten times as long, so with one of them each value is enough.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr Cover default_cover = Cover::Values;
#else
inline constexpr Cover default_cover = Cover::Pairs;
#endif

/// One value for each factor (0 .. sizes[factor]-1).
using FactorValues = std::vector<std::size_t>;

/// A few rows of values. Each value is in at least one of them, and with Cover::Pairs every two values of every two
/// factors meet in one. The rows are the same every time.
std::vector<FactorValues> covering_rows(const std::vector<std::size_t>& sizes, Cover cover = default_cover);

/// The same if not all rows are accepted. That of zeros is. A value, or two, are in a row if one is found that is
/// accepted: one whose other factors are 0, but for one or two that each of these values needs.
std::vector<FactorValues> covering_rows(const std::vector<std::size_t>& sizes,
                                        const std::function<bool(const FactorValues&)>& accepts,
                                        Cover cover = default_cover);

}  // namespace lacuna::test
