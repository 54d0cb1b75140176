#pragma once

#include "runtime/method/method.hpp"

/// The checks behind the properties. Each throws a Fault if its property does not hold.
namespace lacuna::conformance {

// What a method says of itself.
void has_examples(const Method& method);
void means_what_its_texts_say(const Method& method);
void describes_measures(const Method& method);
void refuses_an_option_twice(const Method& method);
void keeps_options_whole(const Method& method);
void makes_arrays_for_checkpoints(const Method& method);

// Its graphs.
void has_graphs_that_fit(const Method& method);
void states_rounds(const Method& method);
void states_rounds_beside_bytes(const Method& method);

// Its results.
void gives_the_same_bits(const Method& method);
void serves_every_count(const Method& method);
void serves_every_length_of_operands(const Method& method);
void serves_every_number_of_parts(const Method& method);
void writes_every_element(const Method& method);
void conserves_mass(const Method& method);
void forgets_what_is_not_finite(const Method& method);
void has_means_in_range(const Method& method);
void gives_the_dense_sums(const Method& method);
void goes_on_from_a_saved_state(const Method& method);
void does_alone_what_it_does_after_others(const Method& method);

// What it uses.
void touches_only_what_is_declared(const Method& method);
void computes_on_a_device(const Method& method);
void reports_the_bytes(const Method& method);
void needs_no_further_memory(const Method& method);

}  // namespace lacuna::conformance
