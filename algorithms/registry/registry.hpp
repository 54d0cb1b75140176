#pragma once

#include <span>
#include <string_view>

#include "runtime/method/method.hpp"

namespace lacuna {

/// All algorithms, in the order of manifest.def.
std::span<const Algorithm* const> all_algorithms();

/// All methods, in the order of methods.def.
std::span<const Method* const> all_methods();

/// A method with options, from text: "skip", "skip:steps=2,mode=random". An error names what was given, and what is
/// allowed or nearest.
Result<MethodOptions> method_options(std::string_view text);

/// How the algorithm is called when it serves this call: "skip_ring" with a method, "ring" without.
std::string_view name_of(const Call& call, const Algorithm& algorithm);

/// Makes an algorithm of the program's own selectable by name, in this process; all ranks register the same before
/// their first such call. It must live until the process ends. An error says why it is refused: a name that is taken,
/// or graphs that do not fit together (verify()) on 1 to 16 ranks; those of other numbers of ranks, up to 64, and of
/// other hosts are looked at by the first call that has them. Any thread may call.
Status register_algorithm(const Algorithm& algorithm);

/// The algorithm that serves this call of ranks on these hosts: the one that it names, else the one named `instead`,
/// else the one that preferences.cpp prefers. An error names what was asked for and what there is.
Result<const Algorithm*> select_algorithm(const Call& call, const Hosts& hosts, std::string_view instead = {});

}  // namespace lacuna
