#include <cmath>

#include "algorithms/forgetful/forgetful.hpp"
#include "algorithms/phases/feedback.hpp"
#include "kernels/elements.hpp"

namespace lacuna {
namespace {

using kernels::load;
using kernels::store;

/// Returns the bytes of an entry, which is a place and a value.
std::size_t bytes_of_entry(Dtype dtype) { return sizeof(std::uint32_t) + size_of(dtype); }
std::size_t room_for_all(const PartView& part) { return part.count * bytes_of_entry(part.call.dtype); }
constexpr BufferInfo room_of_entries = {.element = Dtype::U8, .capacity = room_for_all};

/// Moves large values from the residual into entries.
struct Select {
  static constexpr std::string_view name = "select";
  Write residual, to, own_length;
  Define bytes;
  double share_of_threshold;

  Status operator()(const KernelCall& call) const {
    const double threshold = forgetful_of(call.part.call).threshold * share_of_threshold;
    const std::size_t width = size_of(residual->dtype);
    std::byte* next = to->data;
    for (std::size_t i = 0; i < residual->count; ++i) {
      if (!(std::abs(kernels::load_number(residual->dtype, residual->data, i)) >= threshold)) continue;
      store(next, 0, static_cast<std::uint32_t>(i));
      std::memcpy(next + sizeof(std::uint32_t), residual->data + i * width, width);
      std::memset(residual->data + i * width, 0, width);
      next += bytes_of_entry(residual->dtype);
    }
    *bytes = static_cast<std::uint64_t>(next - to->data);
    store(own_length->data, 0, static_cast<std::int64_t>(*bytes));
    const std::size_t taken = *bytes / bytes_of_entry(residual->dtype);
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
  Write sum;
  Define came;

  Status operator()(const KernelCall& call) const {
    const PartView& part = call.part;
    const std::size_t entry = bytes_of_entry(sum->dtype);
    const double divisor = part.call.reduction == Reduction::Avg ? part.size : 1;
    Status status;
    kernels::with_floating_element(sum->dtype, [&]<class T>(kernels::Element<T>) {
      for (Rank position = 0; position < part.size; ++position) {
        const Extent& from = entries[static_cast<std::size_t>((part.position - position + part.size) % part.size)];
        if (from.count % entry != 0) status = {Code::Mismatch, "entries of another size"};
        for (const std::byte* at = from.data; at != from.data + from.count / entry * entry; at += entry) {
          const auto place = load<std::uint32_t>(at, 0);
          if (place >= sum->count) {
            status = {Code::Mismatch, "an entry beyond the data"};
            return;
          }
          const auto value = kernels::widen(load<T>(at + sizeof(std::uint32_t), 0));
          store(sum->data, place,
                kernels::narrow<T>(kernels::widen(load<T>(sum->data, place)) +
                                   value / static_cast<kernels::WideOf<T>>(divisor)));
        }
        *came += from.count / entry;
      }
    });
    return status;
  }
};

std::size_t room_of_all(const PartView& part) { return room_for_all(part) * static_cast<std::size_t>(part.size); }
std::size_t one_for_each(const PartView& part) { return static_cast<std::size_t>(part.size); }

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
               lengths = g.buffer({.element = Dtype::I64, .capacity = one_for_each}),
               arrived = g.buffer({.element = Dtype::U8, .capacity = room_of_all});
  if (!second) g.reduce(residual, g.input());
  const Value length = g.value(), came = g.agreed();
  g.kernel(Select{.residual = residual,
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
  g.kernel(AddEntries{.entries = all, .sum = g.output(), .came = came});
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
