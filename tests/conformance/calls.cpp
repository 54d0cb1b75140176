#include "tests/conformance/calls.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "algorithms/phases/feedback.hpp"
#include "algorithms/registry/registry.hpp"
#include "tests/conformance/fault.hpp"

namespace lacuna::conformance {
namespace {

constexpr std::ptrdiff_t guards = 8;  // elements on each side of an output

bool same_bits(const std::vector<Numbers>& a, const std::vector<Numbers>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Numbers& one, const Numbers& other) {
    return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size() * sizeof(double)) == 0;
  });
}

}  // namespace

Calls::Calls(Rank size, const test::RanksOptions& options, std::size_t elements)
    : count(elements), states(static_cast<std::size_t>(size)), reports(states.size()), ranks_(size, options) {}

Calls::Calls(const Example& example, const test::RanksOptions& options)
    : Calls(example.size(), options, example.count) {
  for (unsigned run = 0; run < 3; ++run) call_again(example, run + 5);
}

void Calls::call_again(const Example& example, unsigned seed, double before) {
  std::mt19937 random(seed);
  std::vector<Numbers> drawn(states.size(), Numbers(count));
  for (Numbers& own : drawn) {
    for (double& value : own) value = random() % 4 == 0 ? static_cast<double>(random() % 33) - 16 : 0;
  }
  call_on(example, std::move(drawn), before);
}

void Calls::call_on(const Example& example, std::vector<Numbers> given, double before) {
  const std::vector<Numbers>& input = inputs.emplace_back(given);
  std::vector<Numbers> memory(states.size(), Numbers(count + 2 * guards, before));
  std::vector<Call> calls;
  for (std::size_t rank = 0; rank < input.size(); ++rank) {
    Call call = example.call(states[rank]);
    call.input = input[rank].data();
    call.output = memory[rank].data() + guards;
    calls.push_back(call);
  }
  std::string errors;
  for (const Status& end : ranks_.run(calls, &reports)) {
    if (!end && errors.find(end.to_string()) == std::string::npos) errors += end.to_string() + "\n";
  }
  demand(errors.empty(), "{}: {}", example.text, errors);
  demand(same_bits(input, given), "{}: an input has changed", example.text);
  take(memory, before, example.text);
}

void Calls::take(const std::vector<Numbers>& memory, double guard, const std::string& text) {
  auto& output = outputs.emplace_back();
  for (const Numbers& own : memory) {
    const auto begin = own.begin() + guards, end = own.end() - guards;
    const bool is_whole =
        std::count(own.begin(), begin, guard) == guards && std::count(end, own.end(), guard) == guards;
    demand(is_whole, "{}: wrote beside its output", text);
    output.emplace_back(begin, end);
  }
}

Numbers Calls::residual(std::size_t rank) const {
  const StateArray* array = states[rank].find(residual_array);
  Numbers numbers(array ? count : 0);
  if (array) array->bytes.copy_to(reinterpret_cast<std::byte*>(numbers.data()));
  return numbers;
}

void Calls::compare_states(const Calls& other, const std::string& text) const {
  for (std::size_t rank = 0; rank < states.size(); ++rank) {
    demand(*states[rank].save() == *other.states[rank].save(), "{}: the state of rank {} differs", text, rank);
  }
}

void Calls::compare(const Calls& other, const std::string& text) const {
  demand(outputs == other.outputs, "{}: a result differs", text);
  compare_states(other, text);
}

void Calls::compare_last(const Calls& other, const std::string& text) const {
  demand(outputs.back() == other.outputs.back(), "{}: a result differs", text);
  compare_states(other, text);
}

}  // namespace lacuna::conformance
