#include <lacuna/conformance.hpp>
#include <stdexcept>

#include "algorithms/registry/plugins.hpp"
#include "tests/conformance/fault.hpp"
#include "tests/conformance/properties.hpp"

namespace lacuna::conformance {
namespace {

/// Returns the text of the fault that a check finds, or nothing.
template <void (*check)(const Method&)>
std::string fault_of(const Method& method) try {
  check(method);
  return {};
} catch (const Fault& fault) {
  return fault.what();
}

constexpr Property all[] = {
    {"HaveExamplesThatAFewRanksAcceptForEachAlgorithm",
     "4 ranks accept each example, and each allreduce that serves the method has one", fault_of<has_examples>},
    {"MeanWhatTheirTextsSay", "the text of options makes the same options again", fault_of<means_what_its_texts_say>},
    {"DescribeEachMeasureOnceAndPlansTellJustTheirOwn",
     "measures have names and help, and a plan tells those that it counts once", fault_of<describes_measures>},
    {"RefuseAnOptionThatIsGivenTwice", "an option that is given twice is refused by name",
     fault_of<refuses_an_option_twice>},
    {"KeepTheEndsOfTheirOptionsRangesWhole",
     "the least and the most that an option may be are held as they are given, and what is beyond them is refused",
     fault_of<keeps_options_whole>},
    {"MakeForCheckpointsTheArraysThatCallsMake", "Method::state makes the arrays that calls make",
     fault_of<makes_arrays_for_checkpoints>},
    {"HaveGraphsThatFitTogetherAlsoOfWhatFollows",
     "the graphs of all positions fit together on 1 to 16 ranks, also those of parts that follow",
     fault_of<has_graphs_that_fit>},
    {"StateTheRoundsThatTheirGraphsHave", "MethodAlgorithm::rounds is what the graphs of 1 to 17 ranks have",
     fault_of<states_rounds>},
    {"StateTheRoundsWhereTheyStateTheBytes", "algorithms with predictions state their rounds",
     fault_of<states_rounds_beside_bytes>},
    {"GiveTheSameBitsInWhateverOrderMessagesCome",
     "results and states do not depend on the order of messages and computations, with 100 elements on 1 to 9 ranks",
     fault_of<gives_the_same_bits>},
    {"ServeEveryCount",
     "with 0 to 10, 17 and 257 elements on 1 to 9 ranks, the order changes no bit, all ranks have the same "
     "result where none lacks anything, and mass is conserved where there is a residual",
     fault_of<serves_every_count>},
    {"ServeOperandsThatAreEmptySingleOrFull",
     "all collectives end well with 0, 1 and some elements or entries, with null for what is empty, on 1, 2 and 4 "
     "ranks "
     "and hosts; a list gives the bits that its elements give",
     fault_of<serves_every_length_of_operands>},
    {"ServeEveryNumberOfParts",
     "with the options as they are by default, calls in 1, 63, 64, 65 and 1000 parts give the same bits in any order, "
     "on all ranks, and conserve mass; the number of parts is the next power of two where they are no fewer",
     fault_of<serves_every_number_of_parts>},
    {"WriteEveryElement", "the result does not depend on what the output held before", fault_of<writes_every_element>},
    {"ConserveMassWhereTheyHaveAResidual",
     "all that went in is in the results or in the residuals, with 100 elements on 1 to 9 ranks",
     fault_of<conserves_mass>},
    {"TellAtOnceWhatIsNotFiniteAndKeepNothingOfIt",
     "an infinity or a NaN in one element of a rank, or in all, is told by the result of its call where there is a "
     "residual, and no state and no later result has one, with 100 elements on 1 to 5 ranks",
     fault_of<forgets_what_is_not_finite>},
    {"HaveMeansInRangeWhereSumsAreNot",
     "the mean of the largest powers of two of f16, bf16 and f32 is finite, and exact where nothing is lost, on 1 to 9 "
     "ranks",
     fault_of<has_means_in_range>},
    {"GiveTheDenseSumsWhereTheySayThatTheyLoseNothing",
     "where Method::lossless holds, or the options ask for nothing, sums and means are exact, on 1 to 9 ranks",
     fault_of<gives_the_dense_sums>},
    {"GoOnFromASavedStateWithTheSameBits", "a state that was saved and restored continues to the same bits",
     fault_of<goes_on_from_a_saved_state>},
    {"DoWhatTheyDoAloneAfterACallOfAnyMethod", "memory that other calls have left behind changes nothing",
     fault_of<does_alone_what_it_does_after_others>},
    {"TouchOnlyWhatTheirStepsDeclare", "kernels run where all other memory is unreadable",
     fault_of<touches_only_what_is_declared>},
    {"ComputeOnADevice",
     "with the data on a device, on all ranks or on some, results and states have the same bits as on the host",
     fault_of<computes_on_a_device>},
    {"ReportTheBytesThatCrossTheTransport",
     "reports, and graphs that tell it, have the payload that was handed to the transports",
     fault_of<reports_the_bytes>},
    {"NeedNoFurtherMemoryOnceTheyHaveRun", "calls use the memory of earlier calls, for messages, parts and states",
     fault_of<needs_no_further_memory>},
};

}  // namespace

std::span<const Property> properties() { return all; }

std::string_view name_of(const Method& method) { return method.name; }

std::vector<const Method*> methods_of_plugin(std::string_view path) {
  const std::size_t before = all_methods().size();
  if (const Status loaded = load_plugins(path); !loaded) throw std::runtime_error(loaded.to_string());
  const auto added = all_methods().subspan(before);
  if (added.empty()) throw std::runtime_error(fmt::format("{} registers no method", path));
  return {added.begin(), added.end()};
}

}  // namespace lacuna::conformance
