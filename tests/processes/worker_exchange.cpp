#include "tests/processes/worker_exchange.hpp"

#include <fmt/format.h>

#include <vector>

namespace lacuna::test {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::size_t counts[] = {0, 1, 1031, 140009};

/// What `from` sends to a place of its grid, or around the ring.
Ints sent(Rank from, std::size_t place, std::size_t round, std::size_t count) {
  Ints all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = static_cast<std::int64_t>(i * 3 + place * 1000 + round * 100000) + from * 10000000;
  }
  return all;
}

Status wrong(std::string text) { return {Code::Internal, std::move(text)}; }

Status exchange(Communicator& communicator, const ProcessGrid& grid, std::size_t round) {
  const std::vector<Neighbour> neighbours = grid.neighbours(communicator.rank());
  const auto count_of_place = [&](std::size_t place) { return counts[(place / 2 + round) % std::size(counts)]; };
  std::vector<Ints> out, in, expected;
  for (std::size_t place = 0; place < neighbours.size(); ++place) {
    const std::size_t count = count_of_place(place);
    const Rank from = neighbours[place].rank;
    out.push_back(sent(communicator.rank(), place, round, count));
    in.emplace_back(count, -1);
    expected.push_back(from == Neighbour::nobody ? in.back() : sent(from, place ^ 1, round, count));
  }
  std::vector<Halo> halos;
  for (std::size_t place = 0; place < neighbours.size(); ++place) halos.push_back(halo(out[place], in[place]));
  if (Status done = communicator.call(Exchange{.neighbours = neighbours, .halos = halos}); !done) return done;
  return in == expected ? Status() : wrong(fmt::format("exchange {}: wrong numbers", round));
}

Status go_around(Communicator& communicator, std::size_t round) {
  const Rank size = communicator.size(), next = (communicator.rank() + 1) % size;
  const Rank before = (communicator.rank() + size - 1) % size;
  const std::size_t count = counts[round % std::size(counts)];
  const Ints out = sent(communicator.rank(), 7, round, count);
  Ints in(count, -1);
  const auto got = communicator.sendrecv<std::int64_t>(out, next, in, before, 1);
  if (!got) return got.status();
  return *got == count && in == sent(before, 7, round, count) ? Status() : wrong("sendrecv: wrong numbers");
}

/// Rank 0 hears all ranks, itself too.
Status hear_all(Communicator& communicator, std::size_t round) {
  const auto count = [&](Rank from) { return counts[(static_cast<std::size_t>(from) + round) % std::size(counts)]; };
  const int tag = static_cast<int>(round);  // a rank that is ahead is not heard twice
  const Ints mine = sent(communicator.rank(), 9, round, count(communicator.rank()));
  auto send = communicator.start_send<std::int64_t>(std::span<const std::int64_t>(mine), 0, tag);
  if (!send) return send.status();
  std::vector<bool> heard(static_cast<std::size_t>(communicator.size()));
  for (Rank i = 0; communicator.rank() == 0 && i < communicator.size(); ++i) {
    Ints room(140009);
    const auto got = communicator.receive_any<std::int64_t>(room, tag);
    if (!got) return got.status();
    room.resize(got->count);
    if (room != sent(got->from, 9, round, count(got->from))) return wrong("receive from any rank: wrong numbers");
    if (heard[static_cast<std::size_t>(got->from)]) return wrong("a rank is heard twice");
    heard[static_cast<std::size_t>(got->from)] = true;
  }
  return send->wait();
}

}  // namespace

Status run_exchanges(Communicator& communicator, std::size_t rounds) {
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const int dimensions : {1, 2, 3}) {
      const auto grid = ProcessGrid::balanced(communicator.size(), dimensions, round % 2 == 0);
      if (Status done = exchange(communicator, *grid, round); !done) return done;
    }
    if (Status done = go_around(communicator, round); !done) return done;
    if (Status done = hear_all(communicator, round); !done) return done;
  }
  return {};
}

}  // namespace lacuna::test
