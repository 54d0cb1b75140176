// What messages of entries cost: encoded, indexed, summed up into a dense array, merged into entries. Places are drawn
// alike over the segment; formats are the shortest.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/backend.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::size_t ranks = 8;

/// A list, its message, and what is known of that.
struct Message {
  EntriesHeader header;
  std::vector<std::uint32_t> places;
  std::vector<std::byte> values, bytes;
  std::vector<std::uint32_t> before;
  EntriesView view;
  std::uint64_t sound = 0;

  EntriesView list() const {
    return {Format::Coordinates, header.entries, 0, std::as_bytes(std::span(places)).data(), values.data()};
  }
  void encode() { best_backend().encode(header, list(), bytes.data()); }
  void index() { best_backend().index(view, header.length, before.data(), &sound); }
};

/// Each place with the probability of one in `one_in`.
Message drawn_message(Dtype dtype, std::size_t length, std::uint64_t one_in, std::mt19937_64& random) {
  Message message;
  std::geometric_distribution<std::uint64_t> gap(1.0 / static_cast<double>(one_in));
  for (std::uint64_t place = gap(random); place < length; place += 1 + gap(random)) {
    message.places.push_back(static_cast<std::uint32_t>(place));
  }
  const std::size_t entries = message.places.size();
  message.values.resize(entries * size_of(dtype), std::byte{0x3c});
  const Format format = shortest_format(dtype, entries, length);
  message.header = {static_cast<std::uint32_t>(entries), static_cast<std::uint32_t>(length), 0, format, dtype, 0};
  message.bytes.resize(message_bytes(format, dtype, entries, length));
  message.before.resize(blocks_of(length) + 1);
  message.encode();
  message.view = *view_of(best_backend(), message.bytes, dtype, 0, length);
  message.index();
  return message;
}

/// Eight messages; the arguments of a benchmark are the dtype, the length and the places that there are for an entry.
struct Messages {
  explicit Messages(const benchmark::State& state)
      : dtype(static_cast<Dtype>(state.range(0))), length(static_cast<std::size_t>(state.range(1))) {
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < ranks; ++i) {
      all.push_back(drawn_message(dtype, length, static_cast<std::uint64_t>(state.range(2)), random));
    }
    for (const Message& message : all) views.push_back(message.view), before.push_back(message.before.data());
  }

  Dtype dtype;
  std::size_t length;
  std::vector<Message> all;
  std::vector<EntriesView> views;
  std::vector<const std::uint32_t*> before;
};

void encode(benchmark::State& state) {
  Messages messages(state);
  for (auto _ : state) messages.all.front().encode();
  state.SetItemsProcessed(state.iterations() * messages.all.front().header.entries);
}

void index(benchmark::State& state) {
  Messages messages(state);
  for (auto _ : state) {
    for (Message& message : messages.all) message.index();
  }
}

void index_and_sum(benchmark::State& state) {
  Messages messages(state);
  std::vector<std::byte> out(messages.length * size_of(messages.dtype));
  std::uint64_t entries = 0;
  for (auto _ : state) {
    for (Message& message : messages.all) message.index();
    best_backend().sum(messages.views, messages.before.data(), {}, {messages.dtype, out.data(), messages.length},
                       &entries);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(out.size()));
}

/// The raw limit of index_and_sum: its output, written once.
void clear(benchmark::State& state) {
  std::vector<std::byte> out(static_cast<std::size_t>(state.range(1)) * size_of(static_cast<Dtype>(state.range(0))));
  for (auto _ : state) {
    std::memset(out.data(), 0, out.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(out.size()));
}

void index_and_merge(benchmark::State& state) {
  Messages messages(state);
  const std::size_t element = size_of(messages.dtype);
  std::vector<std::byte> room(Backend::merge_places * element), values(messages.length * element);
  std::vector<std::uint32_t> places(messages.length);
  std::uint64_t taken = 0;
  for (auto _ : state) {
    for (Message& message : messages.all) message.index();
    taken = 0;
    best_backend().merge(messages.views, messages.before.data(), {}, messages.length,
                         {messages.dtype, room.data(), Backend::merge_places},
                         {places.data(), values.data(), places.size()}, &taken);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(taken));
}

constexpr std::int64_t f32 = static_cast<std::int64_t>(Dtype::F32), bf16 = static_cast<std::int64_t>(Dtype::BF16);
constexpr std::int64_t large = 25 << 20, piece = 3 << 20;

BENCHMARK(encode)->ArgsProduct({{f32}, {large}, {100000, 1000, 100, 10, 1}});
BENCHMARK(index)->ArgsProduct({{f32}, {large}, {100000, 1000, 100, 10, 1}});
BENCHMARK(clear)->Args({f32, large});
BENCHMARK(index_and_sum)->ArgsProduct({{f32, bf16}, {large}, {1000, 100, 10, 1}});
BENCHMARK(index_and_merge)->ArgsProduct({{f32, bf16}, {piece}, {100000, 1000, 100, 10, 1}});

}  // namespace
}  // namespace lacuna::kernels

BENCHMARK_MAIN();
