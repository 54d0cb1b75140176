#include <algorithm>

#include "algorithms/ok_topk/quotas.hpp"
#include "algorithms/ok_topk/steps.hpp"
#include "algorithms/phases/sparse_costs.hpp"

namespace lacuna::ok {

double result_entries(const ExpectedPart& part) { return std::min(part.entries, part.entries_of(part.size)); }

/// Most runs have one round for selections, one for offers and one for blocks.
int expected_rounds(const ExpectedPart& part) { return part.size == 1 ? 0 : 3; }

/// Selections take one round. Offers take one, and so do blocks. Blocks that are balanced take two.
int rounds(const PartPlan& part, Rank size) {
  if (size == 1) return 0;
  const Form form = form_of(part);
  if (form.stage == Stage::Gather) return 1;
  const bool repartitioned = form.stage != Stage::Balance && form.repartitions;
  return 2 + (repartitioned ? sparse::partition_rounds(size) : 0);
}

/// Returns the mean over runs with and without an exact selection, and with and without a histogram.
double expected_bytes(const ExpectedPart& part) {
  const OkTopk& asked = options_of(part.call);
  const double others = part.size - 1, range = part.places / part.size;
  const auto message = [&](double entries) { return sparse::expected_message_bytes(part, entries / part.size, range); };
  const double tau = static_cast<double>(asked.tau), tau_prime = static_cast<double>(asked.tau_prime);
  const double offer =
      static_cast<double>(words_of_offer(entries_asked(part.call, part.size), part.size) * sizeof(std::uint32_t));
  const double result = others * (message(result_entries(part)) + offer);
  const double sums = others * message(part.entries_of(part.size));
  return others * message(part.entries) + ((tau_prime - 1) * result + sums) / tau_prime +
         sparse::histogram_bytes(part) / tau;
}

}  // namespace lacuna::ok
