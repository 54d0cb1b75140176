#include "examples/workloads/parallel_mlp/grid.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/values/count_of.hpp"

namespace lacuna::workloads {
namespace {

std::int64_t product(const GridSizes& sizes) { return std::int64_t{sizes.data} * sizes.tensor * sizes.pipeline; }

}  // namespace

std::string GridSizes::to_string() const {
  return fmt::format("data x tensor x pipeline = {} x {} x {} = {}", data, tensor, pipeline, product(*this));
}

Status check(const GridSizes& sizes, Rank ranks) {
  if (sizes.data >= 1 && sizes.tensor >= 1 && sizes.pipeline >= 1 && product(sizes) == ranks) return Status::ok();
  return {Code::InvalidArgument, fmt::format("{}, but the job has {}; sizes of at least 1 whose product is {} are "
                                             "allowed",
                                             sizes.to_string(), count_of(ranks, "rank"), ranks)};
}

GridPlace place_of(Rank rank, const GridSizes& sizes) {
  return {.data = rank / (sizes.tensor * sizes.pipeline),
          .pipeline = rank / sizes.tensor % sizes.pipeline,
          .tensor = rank % sizes.tensor};
}

Result<Grid> make_grid(Communicator& world, const GridSizes& sizes) {
  if (Status fits = check(sizes, world.size()); !fits) return fits;
  const GridPlace place = place_of(world.rank(), sizes);
  Result<std::optional<Communicator>> data = world.split(place.pipeline * sizes.tensor + place.tensor, place.data);
  if (!data) return data.status();
  Result<std::optional<Communicator>> tensor = world.split(place.data * sizes.pipeline + place.pipeline, place.tensor);
  if (!tensor) return tensor.status();
  Result<std::optional<Communicator>> pipeline = world.split(place.data * sizes.tensor + place.tensor, place.pipeline);
  if (!pipeline) return pipeline.status();
  return Grid{sizes, place, **std::move(data), **std::move(tensor), **std::move(pipeline)};
}

}  // namespace lacuna::workloads
