// Descends the gradient of a problem of its own by calls that may lose entries. It shows how error feedback changes how
// many entries are sent. Rank 0 prints a line for each call: how many elements each rank selected, how many entries the
// result had, the most bytes that a rank received, and the loss. evidence.py names the problems and runs it.
//   lacuna launch -n 8 -- ./example_ok_topk_feedback --problem convex --method ok_topk:density=0.01 --steps 300
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <lacuna/algorithms/registry/registry.hpp>
#include <lacuna/lacuna.hpp>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

using lacuna::Communicator;
using lacuna::Status;

struct Settings {
  std::string problem = "convex", method;  // no method: dense
  std::size_t elements = 40'000, steps = 1000, seed = 1;
};

/// The loss of rank r is the mean of h[j] (w[j] - c[j])^2 / 2 over elements j, and its gradients are noisy.
class Problem {
 public:
  Problem(const Settings& settings, int rank)
      : drifts_(settings.problem == "drifting"),
        is_noise_(settings.problem == "noise"),
        w_(settings.elements),
        h_(settings.elements, 1),
        c_(settings.elements),
        speed_(settings.elements),
        common_(static_cast<std::mt19937::result_type>(settings.seed)),
        own_(static_cast<std::mt19937::result_type>(1000 * settings.seed + static_cast<std::size_t>(rank) + 1)) {
    std::uniform_real_distribution<float> weight(0.5f, 1.5f);
    for (std::size_t j = 0; j < c_.size(); ++j) {
      c_[j] = (is_noise_ ? 0.3f : 3.0f) * normal_of_all_(common_);
      speed_[j] = 0.01f * normal_of_all_(common_);
      if (is_noise_) continue;
      c_[j] += normal_(own_) / 3;
      h_[j] = weight(own_);
    }
  }

  /// Fills `to` with the gradient times the learning rate.
  void step(std::size_t number, std::span<float> to) {
    if (drifts_ && number % 200 == 199) std::shuffle(speed_.begin(), speed_.end(), common_);
    for (std::size_t j = 0; j < to.size(); ++j) {
      if (drifts_) c_[j] += speed_[j];
      const float gradient = is_noise_ ? c_[j] : h_[j] * (w_[j] - c_[j]);
      to[j] = rate * (gradient + normal_(own_));
    }
  }
  /// Takes a step by what the call returned, the mean of all ranks' steps.
  void descend(std::span<const float> by) {
    if (is_noise_) return;
    for (std::size_t j = 0; j < w_.size(); ++j) w_[j] -= by[j];
  }
  double loss() const {
    double sum = 0;
    for (std::size_t j = 0; j < w_.size(); ++j) sum += h_[j] * std::pow(double{w_[j]} - c_[j], 2) / 2;
    return is_noise_ ? 0 : sum / static_cast<double>(w_.size());
  }

 private:
  static constexpr float rate = 0.01f;

  bool drifts_, is_noise_;
  std::vector<float> w_, h_, c_, speed_;
  std::mt19937 common_, own_;
  std::normal_distribution<float> normal_of_all_, normal_;  // two, because each keeps a number for the next time
};

/// Prints what all ranks have to say about one call.
Status print(Communicator& world, std::size_t step, const lacuna::Report& report, double loss) {
  std::vector<double> mine = {report.measures.value("entries_selected"), static_cast<double>(report.received), loss},
                      all(mine.size() * static_cast<std::size_t>(world.size()));
  if (Status done = world.call(lacuna::allgather<double>(mine, all)); !done) return done;
  if (world.rank() != 0) return {};
  const lacuna::Measure* result = lacuna::find(report.measures.table(), lacuna::MeasureRole::Result);
  double most = 0, sum = 0;
  std::printf("%zu,%.0f,", step, result ? report.measures.value(*result) : 0);
  for (std::size_t i = 0; i < all.size(); i += 3) {
    std::printf("%.0f%s", all[i], i + 3 < all.size() ? " " : ",");
    most = std::max(most, all[i + 1]);
    sum += all[i + 2];
  }
  std::printf("%.0f,%.6g\n", most, sum / world.size());
  return {};
}

Status descend(Communicator& world, const Settings& settings) {
  Problem problem(settings, world.rank());
  lacuna::MethodState state;
  lacuna::Options options{.algorithm = settings.method.empty() ? "ring" : ""};
  if (!settings.method.empty()) {
    const auto method = lacuna::method_options(settings.method);
    if (!method) return method.status();
    options.method = *method;
    options.state = &state;
  }
  std::vector<float> steps(settings.elements), mean(settings.elements);
  for (std::size_t step = 0; step < settings.steps; ++step) {
    problem.step(step, steps);
    auto request = world.start(lacuna::allreduce<float>(steps, mean, lacuna::Reduction::Avg, options));
    if (!request) return request.status();
    if (Status ended = request->wait(); !ended) return ended;
    problem.descend(mean);
    if (Status done = print(world, step, request->report(), problem.loss()); !done) return done;
  }
  return {};
}

bool parse(std::span<char*> arguments, Settings& settings) {
  const std::map<std::string, std::size_t*> numbers = {
      {"--elements", &settings.elements}, {"--steps", &settings.steps}, {"--seed", &settings.seed}};
  const std::map<std::string, std::string*> texts = {{"--problem", &settings.problem}, {"--method", &settings.method}};
  for (std::size_t i = 1; i < arguments.size(); i += 2) {
    const std::string name = arguments[i];
    if (i + 1 == arguments.size()) return false;
    if (numbers.contains(name)) {
      *numbers.at(name) = std::strtoull(arguments[i + 1], nullptr, 10);
    } else if (texts.contains(name)) {
      *texts.at(name) = arguments[i + 1];
    } else {
      return false;
    }
  }
  const std::string& problem = settings.problem;
  return settings.elements > 0 && (problem == "convex" || problem == "drifting" || problem == "noise");
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!parse({argv, static_cast<std::size_t>(argc)}, settings)) {
    std::fprintf(
        stderr, "usage: %s [--problem convex|drifting|noise] [--method METHOD] [--elements N] [--steps N] [--seed N]\n",
        argv[0]);
    return 2;
  }
  auto world = Communicator::world();
  const Status done = world ? descend(*world, settings) : world.status();
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.to_string().c_str());
  return 1;
}
