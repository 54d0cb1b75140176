#include <cmath>

#include "algorithms/forgetful/forgetful.hpp"
#include "algorithms/phases/feedback.hpp"
#include "kernels/backend.hpp"
#include "kernels/elements.hpp"

namespace lacuna {
namespace {

using kernels::load;
using kernels::store;

/// Returns the bytes of a message of entries, in the format of coordinates.
std::size_t message_bytes(Dtype dtype, std::size_t entries, std::size_t places) {
  return kernels::message_bytes(kernels::Format::Coordinates, dtype, entries, places);
}
std::size_t room_for_all(const PartView& part) { return message_bytes(part.call.dtype, part.count, part.count); }
constexpr BufferInfo room_of_entries = {.element = Dtype::U8, .capacity = room_for_all};
std::size_t places_of_part(const PartView& part) { return part.count; }

/// Moves large values from the residual into a message. Where there are none, there is no message.
struct Select {
  static constexpr std::string_view name = "select";
  Write residual, places, values, to, own_length;
  Define bytes;
  double share_of_threshold;

  Status operator()(const KernelCall& call) const {
    const double threshold = forgetful_of(call.part.call).threshold * share_of_threshold;
    const Dtype dtype = residual->dtype;
    const kernels::Cut cut{.above = kernels::magnitude_of(dtype, std::nextafter(threshold, 0))};
    auto* const list = reinterpret_cast<std::uint32_t*>(places->data);
    std::uint64_t taken = 0;
    call.backend.compact({dtype, residual->data, residual->count}, &cut, {list, values->data, places->count}, &taken);
    if (taken > 0) {
      const auto entries = static_cast<std::uint32_t>(taken), length = static_cast<std::uint32_t>(residual->count);
      call.backend.encode({.entries = entries, .length = length, .dtype = dtype},
                          {.entries = entries, .places = places->data, .values = values->data}, to->data);
      call.backend.clear_at({list, taken}, {dtype, residual->data, residual->count});
      *bytes = message_bytes(dtype, taken, residual->count);
    }
    store(own_length->data, 0, static_cast<std::int64_t>(*bytes));
    const double sent = static_cast<double>(taken), all = static_cast<double>(residual->count);
    call.measures.tell(forgetful_measure::entries, sent);
    call.measures.tell(forgetful_measure::most, sent);
    call.measures.tell(forgetful_measure::magnitude, threshold);
    if (all > 0) call.measures.tell(forgetful_measure::share, sent / all);
    return {};
  }
};

/// Tells both ends of each message of entries how long it is, and where the own position puts arriving entries.
struct TellLengths {
  static constexpr std::string_view name = "tell lengths";
  Read lengths;                       ///< numbers of entries of all positions
  Defines outgoing, incoming, begin;  ///< by distance from the own position, and by distance before it

  Status operator()(const KernelCall& call) const {
    const Rank size = call.part.size, own = call.part.position;
    const auto length_of = [&](Rank position) {
      return static_cast<std::uint64_t>(load<std::int64_t>(lengths->data, static_cast<std::size_t>(position)));
    };
    std::uint64_t end = 0;
    for (Rank distance = 1; distance < size; ++distance) {
      const auto i = static_cast<std::size_t>(distance) - 1;
      outgoing[i] = length_of(own);
      begin[i] = end;
      incoming[i] = length_of((own - distance + size) % size);
      end += incoming[i];
    }
    return {};
  }
};

/// Adds the entries of all positions in one order, so that all positions have the same bits.
struct AddEntries {
  static constexpr std::string_view name = "add entries";
  Reads entries;  ///< ordered by distance before the own position
  Write sum, table, added;
  Define came;

  Status operator()(const KernelCall& call) const {
    const PartView& part = call.part;
    const double divisor = part.call.reduction == Reduction::Avg ? part.size : 1;
    for (Rank position = 0; position < part.size; ++position) {
      const Extent& from = entries[static_cast<std::size_t>((part.position - position + part.size) % part.size)];
      if (from.count == 0) continue;
      const auto view = kernels::view_of(call.backend, {from.data, from.count}, sum->dtype, 0, sum->count);
      if (!view) return view.status();
      auto* const before = reinterpret_cast<std::uint32_t*>(table->data);
      std::uint64_t sound = 0, not_zero = 0;
      call.backend.index(*view, sum->count, before, &sound);
      if (sound == 0) return {Code::Mismatch, "an entry beyond the data"};
      const kernels::Target here{sum->dtype, added->data, sum->count};
      call.backend.sum({&*view, 1}, &before, {.divisor = divisor}, here, &not_zero);
      call.backend.reduce(Reduction::Sum, {}, {sum->dtype, sum->data, sum->count}, sum->data, added->data);
      *came += view->entries;
    }
    return {};
  }
};

std::size_t room_of_all(const PartView& part) { return room_for_all(part) * static_cast<std::size_t>(part.size); }
std::size_t one_for_each(const PartView& part) { return static_cast<std::size_t>(part.size); }
std::size_t words_of_table(const PartView& part) { return kernels::blocks_of(part.count) + 1; }

/// Returns the length of the position that is `distance` places after the own one.
Region length_at(const GraphBuilder& g, const Region& lengths, Rank distance) {
  const auto piece = static_cast<std::uint32_t>((g.position() + distance + g.size()) % g.size());
  return {.buffer = lengths.buffer, .of = static_cast<std::uint32_t>(g.size()), .begin = piece, .end = piece + 1};
}

/// Each position tells all others how many entries it has. Then only positions with entries send them, in a message
/// whose length its two ends know, to a place that shares nothing with those of the other messages.
void build(GraphBuilder& g) {
  const bool second = g.parameters<ForgetfulForm>().smaller;
  const Region residual = g.buffer({.role = Role::State, .name = residual_array}), room = g.buffer(room_of_entries),
               lengths = g.buffer({.element = Dtype::I64, .capacity = one_for_each, .memory = MemoryKind::Host}),
               arrived = g.buffer({.element = Dtype::U8, .capacity = room_of_all});
  if (!second) g.reduce(residual, g.input());
  const Value length = g.value(), came = g.agreed();
  g.kernel(Select{.residual = residual,
                  .places = g.buffer({.element = Dtype::I32, .capacity = places_of_part}),
                  .values = g.buffer({.capacity = places_of_part}),
                  .to = room,
                  .own_length = length_at(g, lengths, 0),
                  .bytes = length,
                  .share_of_threshold = second ? 0.25 : 1});
  std::vector<Value> outgoing, incoming, begin;
  std::vector<Region> places;
  for (Rank distance = 1; distance < g.size(); ++distance) {
    g.send(length_at(g, lengths, 0), g.position() + distance);
    g.receive(length_at(g, lengths, -distance), g.position() - distance);
    outgoing.push_back(g.paired(g.position(), g.position() + distance));
    incoming.push_back(g.paired(g.position() - distance, g.position()));
    begin.push_back(g.value());
    places.push_back(GraphBuilder::counted(arrived, incoming.back(), begin.back()));
  }
  g.kernel(TellLengths{.lengths = lengths, .outgoing = outgoing, .incoming = incoming, .begin = begin});
  if (!places.empty()) places = g.disjoint(places);
  std::vector<Region> all = {GraphBuilder::counted(room, length)};
  for (Rank distance = 1; distance < g.size(); ++distance) {
    const auto i = static_cast<std::size_t>(distance) - 1;
    g.send(GraphBuilder::counted(room, outgoing[i]), g.position() + distance);
    g.receive(places[i], g.position() - distance);
    all.push_back(places[i]);
  }
  if (!second) g.clear(g.output());
  g.kernel(AddEntries{.entries = all,
                      .sum = g.output(),
                      .table = g.buffer({.element = Dtype::I32, .capacity = words_of_table}),
                      .added = g.buffer({.capacity = places_of_part}),
                      .came = came});
  g.decide({came});
}

}  // namespace

extern const Algorithm forgetful_sparse = {
    .collective = Collective::Allreduce,
    .name = "forgetful_sparse",
    .summary = "2 steps; each rank sends what is large to all, and before that how much it is",
    .symmetric = true,
    .build = build,
    .parameters = &parameter_set<ForgetfulForm>,
};

}  // namespace lacuna
