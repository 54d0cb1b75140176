#include "runtime/communicator/check_call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/method/method.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/extent.hpp"

namespace lacuna::runtime {
namespace {

/// Do the blocks of two tables lie at the same places?
bool same_places(const Blocks& a, const Blocks& b) {
  std::size_t next_a = 0, next_b = 0;
  for (std::size_t i = 0; i < a.counts.size(); ++i) {
    const std::size_t count = a.counts[i];
    if (count != b.counts[i]) return false;
    const std::size_t begin_a = a.offsets.empty() ? next_a : a.offsets[i];
    const std::size_t begin_b = b.offsets.empty() ? next_b : b.offsets[i];
    if (count > 0 && begin_a != begin_b) return false;
    next_a = begin_a + count;
    next_b = begin_b + count;
  }
  return true;
}

/// The buffers that this rank gives.
struct Has {
  bool input, output;
};

Has buffers_of(const Call& call, Rank rank) {
  return {reads_input(call.collective, rank, call.root), writes_output(call.collective, rank, call.root)};
}

/// Checks the tables of the buffers that this rank gives, and the length of its own block in both.
Status check_tables(const Call& call, Rank rank, Rank size) {
  const CollectiveTraits& traits = traits_of(call.collective);
  const Has has = buffers_of(call, rank);
  const bool in = has.input && traits.input == Holds::Blocks, out = has.output && traits.output == Holds::Blocks;
  Status valid = in ? check_blocks(call.input_blocks, "input", size, call.dtype) : Status();
  if (valid && out) valid = check_blocks(call.output_blocks, "output", size, call.dtype);
  if (!valid) return {valid.code(), fmt::format("{}: {}", traits.name, valid.message())};
  if (!in && !out) return {};
  const bool told = out && !call.output_blocks.received.empty();
  if (told && traits.lengths == Lengths::Agreed) {
    return {Code::InvalidArgument, fmt::format("{}: all ranks know all lengths; no counts are received", traits.name)};
  }
  if (in && !call.input_blocks.received.empty()) {
    return {Code::InvalidArgument, fmt::format("{}: counts are received with the output, not the input", traits.name)};
  }
  const auto own = static_cast<std::size_t>(rank);
  const std::size_t given = in ? call.input_blocks.counts[own] : call.count;
  const std::size_t taken = out ? call.output_blocks.counts[own] : call.count;
  if (told ? given <= taken : given == taken) return {};
  return {Code::InvalidArgument, fmt::format("{}: the own block has {} in the input and {}{} in the output",
                                             traits.name, count_of(given, "element"), told ? "at most " : "", taken)};
}

std::size_t most_of_a_rank(const Call& call, Rank size) {
  return most_elements(call.dtype) / static_cast<std::size_t>(size);
}

/// How many elements so many entries have, or the largest number if it is too small for that.
std::size_t elements_of(std::size_t entries, std::size_t length) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  return length > 0 && entries > most / length ? most : entries * length;
}

/// How many elements the longer of the call's lists has.
std::size_t listed_elements(const Call& call) {
  const InputEntries& given = call.input_entries;
  const OutputEntries& asked = call.output_entries;
  return std::max(given.places ? elements_of(given.count, given.length) : 0,
                  asked.places ? elements_of(asked.room, asked.length) : 0);
}

/// The most elements that the call writes to an output that holds entries: room beyond all data is never used.
std::size_t listed_output(const Call& call, Rank size) {
  const OutputEntries& asked = call.output_entries;
  if (asked.length == 0) return 0;
  const std::size_t data = output_length(call, size), entries = data / asked.length + (data % asked.length != 0);
  return std::min(asked.room, entries) * asked.length;
}

/// Are entries as long as the method says? A list without entries need not know it.
Status check_entry_length(const Call& call, std::string_view name, std::size_t entries, std::size_t length) {
  const std::size_t right = entry_length(call.options.method);
  if (entries == 0 || right == 0 || length == right) return {};
  return {Code::InvalidArgument,
          fmt::format("{}: an entry of the {} has {}, {} takes entries of {}", traits_of(call.collective).name, name,
                      count_of(length, "element"), call.options.method.text(), right)};
}

Status check_entries(const Call& call) {
  const InputEntries& given = call.input_entries;
  const OutputEntries& asked = call.output_entries;
  if (asked.places && !asked.count) {
    return {Code::InvalidArgument, fmt::format("{}: the output holds entries, and nothing says where their number goes",
                                               traits_of(call.collective).name)};
  }
  Status valid = given.places ? check_entry_length(call, "input", given.count, given.length) : Status();
  if (valid && asked.places) valid = check_entry_length(call, "output", asked.room, asked.length);
  return valid;
}

/// Can memory hold so many elements and entries? Then their bytes can be counted without overflow.
bool can_be_counted(const Call& call, Rank size) {
  return call.count <= most_of_a_rank(call, size) && listed_elements(call) <= most_elements(call.dtype);
}

Status why_not_counted(const Call& call, Rank size) {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (const std::size_t most = most_of_a_rank(call, size); call.count > most) {
    return {Code::InvalidArgument,
            fmt::format("{} of {} of {}: no memory holds them, at most {} are allowed on {}", traits.name,
                        count_of(call.count, "element"), to_string(call.dtype), most, count_of(size, "rank"))};
  }
  return {Code::InvalidArgument,
          fmt::format("{} of lists of {} of {}: no memory holds them, at most {} are allowed", traits.name,
                      count_of(listed_elements(call), "element"), to_string(call.dtype), most_elements(call.dtype))};
}

Status no_such_place(std::string_view collective, std::string_view name, const void* data, std::size_t bytes) {
  return {Code::InvalidArgument, fmt::format("{}: no memory holds the {}, {} from address {} on", collective, name,
                                             count_of(bytes, "byte"), data)};
}

Status check_buffers(const Call& call, Rank rank, Rank size) {
  if (!can_be_counted(call, size)) return why_not_counted(call, size);
  const CollectiveTraits& traits = traits_of(call.collective);
  const std::size_t width = size_of(call.dtype);
  const Has has = buffers_of(call, rank);
  const InputEntries& given = call.input_entries;
  const OutputEntries& asked = call.output_entries;
  const std::size_t in = has.input ? width * (given.places ? given.count * given.length : input_length(call, size)) : 0;
  const std::size_t out =
      has.output ? width * (asked.places ? listed_output(call, size) : output_length(call, size)) : 0;
  if (Status valid = check_entries(call); !valid) return valid;
  const bool lacks_output = out > 0 && !call.output;
  if ((in > 0 && !call.input) || lacks_output) {
    return {Code::InvalidArgument,
            fmt::format("{} of {}: the {} is null", traits.name, count_of((lacks_output ? out : in) / width, "element"),
                        lacks_output ? "output" : "input")};
  }
  if (!fits_in_memory(call.input, in)) return no_such_place(traits.name, "input", call.input, in);
  if (!fits_in_memory(call.output, out)) return no_such_place(traits.name, "output", call.output, out);
  if (has.input && has.output && share_bytes(call.input, in, call.output, out) && !is_in_place(call, rank)) {
    return {Code::InvalidArgument, fmt::format("{}: input ({}) and output ({}) overlap; they must be "
                                               "disjoint, or in place",
                                               traits.name, count_of(in, "byte"), count_of(out, "byte"))};
  }
  return {};
}

/// The reductions that a call of this collective and type may name, as a text.
std::string reductions_of(const Call& call) {
  std::vector<std::string_view> names;
  for (Reduction reduction : all_reductions) {
    if (takes(call.collective, call.dtype, reduction)) names.push_back(to_string(reduction));
  }
  if (names.empty()) return fmt::format("only {}, a reduction of the program", to_string(Reduction::Own));
  const std::string_view last = names.back();
  names.pop_back();
  return names.empty() ? std::string(last) : fmt::format("{} or {}", fmt::join(names, ", "), last);
}

Status check_reduction(const Call& call) {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (!traits.reduces) return {};
  if (!defines(call.dtype, call.reduction)) {
    return {Code::InvalidArgument, fmt::format("{} of {} is not defined; {} takes {}", to_string(call.reduction),
                                               to_string(call.dtype), to_string(call.dtype), reductions_of(call))};
  }
  if (!takes(call.collective, call.dtype, call.reduction)) {
    return {Code::InvalidArgument,
            fmt::format("{} has no {}; it takes {}", traits.name, to_string(call.reduction), reductions_of(call))};
  }
  if (call.reduction == Reduction::Own && is_on_device(call.memory.kind)) {
    return {Code::Unsupported,
            fmt::format("{} of a reduction of the program: its function computes in the host's memory, and the buffers "
                        "lie in {} memory",
                        traits.name, to_string(call.memory.kind))};
  }
  if (call.reduction != Reduction::Own || call.own.function) return {};
  return {Code::InvalidArgument, fmt::format("{} of a reduction of the program: its function is null", traits.name)};
}

}  // namespace

bool is_in_place(const Call& call, Rank rank) {
  const Has has = buffers_of(call, rank);
  if (!has.input || !has.output || has_entries(call)) return false;
  const InPlace offsets = in_place_offsets(call, rank);
  const auto input = reinterpret_cast<std::uintptr_t>(call.input) - offsets.input * size_of(call.dtype);
  const auto output = reinterpret_cast<std::uintptr_t>(call.output) - offsets.output * size_of(call.dtype);
  if (input != output) return false;
  return call.collective != Collective::Alltoallv || same_places(call.input_blocks, call.output_blocks);
}

Status check_call(const Call& call, Rank rank, Rank size) {
  if (!moves_data(call.collective)) return {};
  if (has_root(call.collective) && (call.root < 0 || call.root >= size)) {
    return {Code::InvalidArgument, fmt::format("root is {}, must be 0 .. {}", call.root, size - 1)};
  }
  if (Status valid = check_reduction(call); !valid) return valid;
  if (Status valid = has_tables(call.collective) ? check_tables(call, rank, size) : Status(); !valid) return valid;
  return check_buffers(call, rank, size);
}

}  // namespace lacuna::runtime
