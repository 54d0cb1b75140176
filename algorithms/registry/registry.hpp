#pragma once

#include <span>
#include <string_view>

#include "algorithms/registry/method_options.hpp"
#include "runtime/method/method.hpp"

namespace lacuna {

/// All algorithms of lacuna that stand alone, in the order of manifest.def.
std::span<const Algorithm* const> all_algorithms();

/// The algorithms that register_algorithm() has taken, in its order. Any thread may call.
std::span<const Algorithm* const> registered_algorithms();

/// All methods: those of methods.def, then those that were registered. Any thread may call.
std::span<const Method* const> all_methods();

/// How the algorithm is called when it serves this call: "skip_ring" with a method, "ring" without.
std::string_view name_of(const Call& call, const Algorithm& algorithm);

/// Makes an algorithm of the program's own selectable by name in this process. All ranks must register the same
/// algorithm before their first call of it. It must live until the process ends. An error says why it is refused: its
/// name is taken, or its graphs do not fit together (verify()) on 1 to 16 ranks. The first call on another number of
/// ranks, up to 64, or on other hosts checks the graphs for these. Any thread may call.
Status register_algorithm(const Algorithm& algorithm);

/// Makes a method of the program's own known in this process, by its name: in method_options(), and with its
/// algorithms. All ranks must register the same method before their first call with it. It and all that it points to
/// must live until the process ends. An error says why it is refused: a name is taken, the description lacks something,
/// or the graphs of its examples do not fit together (verify()) on 1 to 8 ranks. Any thread may call.
Status register_method(const Method& method);

/// Chooses the algorithm that serves this call of ranks on these hosts: the one that the call names, else the one named
/// `instead`, else the one that preferences.cpp prefers. An error names what was asked for and what there is.
Result<const Algorithm*> select_algorithm(const Call& call, const Hosts& hosts, std::string_view instead = {});

}  // namespace lacuna
