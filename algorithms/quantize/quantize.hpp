#pragma once

#include <cstddef>

#include "runtime/values/method_options.hpp"
#include "runtime/values/option.hpp"

namespace lacuna {

/// Elements of f32 or f64 travel as whole numbers of 8 or 4 bits. A block of elements shares a spacing; an element is
/// rounded up or down to a whole number of spacings by chance, so that its mean is right (Alistarh, Grubic, Li,
/// Tomioka, Vojnovic: QSGD: Communication-efficient SGD via gradient quantization and encoding, 2017, equation 2, for
/// blocks, with the largest magnitude in place of the norm). The spacing is the least power of two by which the largest
/// element of the block needs no more bits than there are. So the error of an element is less than a spacing, and whole
/// numbers below 128, or 8, are exact. It serves allreduce, reduce_scatter and allgather. The reduction is sum or avg.
///
/// The rank that owns a piece of the data adds up the terms of all ranks in the type of the data and in the order of
/// the ranks, its own as it is. It rounds the result in the same way, so that an element of an allreduce is rounded
/// twice, and all ranks get the same bits (the two stages of Tang et al.: 1-bit Adam, 2021, section 4.2).
///
/// The call needs a state, which counts the runs: they, the state's sampler, the rank and the place of an element say
/// how it is rounded. With feedback, the rank that has rounded something off adds it to its next input. options.def
/// says what the members mean. All ranks give the same options.
struct Quantize {
#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/quantize/options.def"
#undef LACUNA_OPTION
};

/// Makes Options::method of these options.
MethodOptions quantize(const Quantize& options);

extern const Method quantize_method;

}  // namespace lacuna
