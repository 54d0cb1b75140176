#include <algorithm>

#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Status;

namespace {

lacuna::Neighbour neighbour_of(const lacuna_neighbour& given) {
  return {.rank = given.rank, .send_direction = given.send_direction, .receive_direction = given.receive_direction};
}

Status read_halo(const lacuna_halo& given, lacuna::Halo& halo) {
  if (Status valid = check_dtype(given.dtype); !valid) return valid;
  halo = {given.send, given.send_count, given.receive, given.receive_count, static_cast<lacuna::Dtype>(given.dtype)};
  return {};
}

Status read_lists(const lacuna_neighbour* neighbours, const lacuna_halo* halos, size_t count,
                  std::vector<lacuna::Neighbour>& all_neighbours, std::vector<lacuna::Halo>& all_halos) {
  if (count > 0 && (!neighbours || !halos)) return null_argument(neighbours ? "halos" : "neighbours");
  all_halos.resize(count);
  for (size_t i = 0; i < count; ++i) {
    all_neighbours.push_back(neighbour_of(neighbours[i]));
    if (Status valid = read_halo(halos[i], all_halos[i]); !valid) return valid;
  }
  return {};
}

Status read_memory(const lacuna_memory* given, lacuna::Memory& memory) {
  lacuna_memory value = LACUNA_MEMORY_INIT;
  if (Status valid = read(given, value); !valid) return valid;
  if (Status valid = check_range("memory", value.kind, LACUNA_MEMORY_CUDA_HOST); !valid) return valid;
  memory = {static_cast<lacuna::MemoryKind>(value.kind), value.device, value.stream};
  return {};
}

}  // namespace

lacuna_status lacuna_exchange(lacuna_communicator* communicator, const lacuna_neighbour* neighbours,
                              const lacuna_halo* halos, size_t count, int32_t tag, const lacuna_options* given,
                              lacuna_request** request) {
  return lacuna_exchange_in(communicator, nullptr, neighbours, halos, count, tag, given, request);
}

lacuna_status lacuna_exchange_in(lacuna_communicator* communicator, const lacuna_memory* in,
                                 const lacuna_neighbour* neighbours, const lacuna_halo* halos, size_t count,
                                 int32_t tag, const lacuna_options* given, lacuna_request** request) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    lacuna::Memory memory;
    if (Status valid = read_memory(in, memory); !valid) return valid;
    lacuna::Options options;
    if (Status valid = read_options(given, options); !valid) return valid;
    if (!options.algorithm.empty() || options.method) {
      return {Code::InvalidArgument, "an exchange takes neither an algorithm nor a method"};
    }
    std::vector<lacuna::Neighbour> all_neighbours;
    std::vector<lacuna::Halo> all_halos;
    if (Status valid = read_lists(neighbours, halos, count, all_neighbours, all_halos); !valid) return valid;
    const lacuna::Exchange exchange{.neighbours = all_neighbours,
                                    .halos = all_halos,
                                    .tag = tag,
                                    .memory = memory,
                                    .options = {options.priority, options.deadline, options.notify, {}}};
    if (prepares(given)) {
      if (!request) return null_argument("request");
      auto prepared = communicator->communicator.prepare(exchange);
      if (!prepared) return prepared.status();
      *request = new lacuna_request{std::move(*prepared)};
      return {};
    }
    auto started = communicator->communicator.start(exchange);
    if (!started) return started.status();
    if (!request) return started->wait();
    *request = new lacuna_request{std::move(*started)};
    return {};
  });
}

lacuna_status lacuna_balanced_grid(int32_t size, int32_t dimensions, int32_t* lengths) {
  return guarded([&]() -> Status {
    if (!lengths) return null_argument("lengths");
    const auto grid = lacuna::ProcessGrid::balanced(size, dimensions);
    if (!grid) return grid.status();
    for (const lacuna::Side& side : grid->sides()) *lengths++ = side.length;
    return {};
  });
}

lacuna_status lacuna_grid_neighbours(const int32_t* lengths, const int32_t* periodic, int32_t dimensions, int32_t rank,
                                     lacuna_neighbour* neighbours) {
  return guarded([&]() -> Status {
    if (!lengths || !neighbours) return null_argument(lengths ? "neighbours" : "lengths");
    std::vector<lacuna::Side> sides;
    for (int32_t d = 0; d < dimensions; ++d) {
      sides.push_back({.length = lengths[d], .periodic = periodic && periodic[d] != 0});
    }
    const auto grid = lacuna::ProcessGrid::make(std::move(sides));
    if (!grid) return grid.status();
    if (Status valid = check_range("rank", rank, grid->size() - 1); !valid) return valid;
    for (const lacuna::Neighbour& one : grid->neighbours(rank)) {
      *neighbours++ = {one.rank, one.send_direction, one.receive_direction};
    }
    return {};
  });
}
