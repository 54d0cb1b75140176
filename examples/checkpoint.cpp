// A program that goes on where it was killed: checkpoints of all ranks.
//   lacuna launch -n 4 -- example_checkpoint FOLDER STEPS
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <lacuna/checkpoint.hpp>
#include <lacuna/lacuna.hpp>
#include <vector>

namespace {

/// Ends the program if something has failed.
void must(const lacuna::Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  std::exit(EXIT_FAILURE);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return EXIT_FAILURE;
  const std::filesystem::path folder = arguments[1];
  const std::int64_t steps = std::atoll(arguments[2]);
  lacuna::Communicator world;
  if (world.rank() == 0) std::filesystem::create_directories(folder);

  std::vector<double> field(1000, world.rank());
  const std::vector<lacuna::StateItem> items = {
      {.name = "field", .dtype = lacuna::Dtype::F64, .data = field.data(), .count = field.size()}};
  auto restored = lacuna::checkpoint::restore(world, folder, items);
  must(restored.status());
  const std::int64_t begin = *restored ? (*restored)->step : 0;
  if (world.rank() == 0) std::printf("begins after step %lld\n", static_cast<long long>(begin));

  std::vector<double> mean(field.size());
  for (std::int64_t step = begin + 1; step <= steps; ++step) {
    must(world.call(lacuna::allreduce<double>(field, mean, lacuna::Reduction::Avg)));
    for (std::size_t i = 0; i < field.size(); ++i) field[i] += 0.1 * (mean[i] - field[i]) + 1;
    if (step % 10 == 0 || step == steps) must(lacuna::checkpoint::save(world, folder, step, items));
  }
  if (world.rank() == 0) std::printf("field[0] is %.17g\n", field[0]);
}
