#include "bindings/cli/replay/method.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "algorithms/phases/feedback.hpp"
#include "kernels/elements.hpp"

namespace lacuna::cli {
namespace {

using Clock = std::chrono::steady_clock;

double square(double value) { return value * value; }

/// Returns 0 for 0 of 0, and infinity where there should be nothing.
double relative(double squares, double of_squares) { return squares == 0 ? 0 : std::sqrt(squares / of_squares); }

double squares_of(const StateArray& array) {
  double sum = 0;
  for (std::size_t i = 0; i < array.count(); ++i) {
    sum += square(kernels::load_number(array.dtype, array.bytes.data(), i));
  }
  return sum;
}

}  // namespace

ExactSums::ExactSums(const std::vector<StateItem>& tensors) {
  for (const StateItem& tensor : tensors) {
    now_.emplace_back(tensor.count);
    so_far_.emplace_back(tensor.count);
  }
}

Status ExactSums::add(Communicator& communicator, const std::vector<StateItem>& tensors) {
  squares_now_ = squares_so_far_ = 0;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    std::vector<double>& now = now_[t];
    const auto* data = static_cast<const std::byte*>(tensors[t].data);
    for (std::size_t i = 0; i < now.size(); ++i) now[i] = kernels::load_number(tensors[t].dtype, data, i);
    if (Status summed = communicator.call(allreduce(now, now)); !summed) return summed;
    for (std::size_t i = 0; i < now.size(); ++i) {
      so_far_[t][i] += now[i];
      squares_now_ += square(now[i]);
      squares_so_far_ += square(so_far_[t][i]);
    }
  }
  return Status::ok();
}

ReplayedMethod::ReplayedMethod(ReplayChoice choice, const ReplayOptions& options, const Recording& recording)
    : choice_(std::move(choice)),
      has_common_algorithm_(choice_.algorithm.empty() && !options.algorithm.empty()),
      recording_(recording) {
  if (has_common_algorithm_) choice_.algorithm = options.algorithm;
  for (const StateItem& tensor : recording.tensors()) {
    states_.push_back({.sampler = {.seed = options.seed, .key = states_.size(), .draw = 0}});
    results_.emplace_back(tensor.count * size_of(tensor.dtype));
    behind_.emplace_back(tensor.count);
  }
}

Call ReplayedMethod::call_of(std::size_t tensor) {
  const StateItem& from = recording_.tensors()[tensor];
  Call call{.collective = Collective::Allreduce,
            .input = from.data,
            .output = results_[tensor].data(),
            .count = from.count,
            .dtype = from.dtype};
  call.options.algorithm = choice_.algorithm;
  call.options.method = choice_.options;
  if (choice_.options) call.options.state = &states_[tensor];
  return call;
}

Status ReplayedMethod::check(const Communicator& communicator) {
  for (std::size_t tensor = 0; tensor < states_.size(); ++tensor) {
    const Result<std::string_view> name = communicator.algorithm_name(call_of(tensor));
    if (!name) {
      const char* hint =
          has_common_algorithm_ ? ". --algorithm is for all methods that name none; METHOD@ALGORITHM names one" : "";
      return {name.status().code(), fmt::format("--method {}: {}{}", choice_.label, name.status().message(), hint)};
    }
    algorithms_.emplace_back(*name);
  }
  return Status::ok();
}

/// Reduces all tensors at once, as a training step does.
Status ReplayedMethod::reduce(Communicator& communicator, Sums& sums) {
  if (Status together = communicator.call(barrier()); !together) return together;
  const std::uint64_t sent = communicator.counters().payload_sent;
  const Clock::time_point begin = Clock::now();
  std::vector<CallRequest> requests;
  std::size_t waited = 0;
  while (requests.size() < states_.size()) {
    Result<CallRequest> request = communicator.start(call_of(requests.size()));
    if (request) {
      requests.push_back(*std::move(request));
    } else if (request.status().code() == Code::Busy && waited < requests.size()) {
      if (Status ended = requests[waited++].wait(); !ended) return ended;
    } else {
      return request.status();
    }
  }
  for (CallRequest& request : requests) {
    if (Status ended = request.wait(); !ended) return ended;
  }
  std::array<double, 1> seconds = {std::chrono::duration<double>(Clock::now() - begin).count()};
  sums.sent = sums.dense = static_cast<double>(communicator.counters().payload_sent - sent);
  for (const CallRequest& request : requests) sums.dense += static_cast<double>(request.report().bytes_saved());
  if (Status slowest = communicator.call(allreduce(seconds, seconds, Reduction::Max)); !slowest) return slowest;
  series_.seconds.push_back(seconds[0]);
  return Status::ok();
}

void ReplayedMethod::compare(const ExactSums& exact, Sums& sums) {
  for (std::size_t tensor = 0; tensor < states_.size(); ++tensor) {
    const Dtype dtype = recording_.tensors()[tensor].dtype;
    std::vector<double>& behind = behind_[tensor];
    for (std::size_t i = 0; i < behind.size(); ++i) {
      const double wrong = kernels::load_number(dtype, results_[tensor].data(), i) - exact.now()[tensor][i];
      behind[i] += wrong;
      sums.squares += square(wrong);
      sums.running_squares += square(behind[i]);
    }
    if (const StateArray* residual = states_[tensor].find(residual_array)) {
      sums.residual_squares += squares_of(*residual);
    }
  }
}

Status ReplayedMethod::step(Communicator& communicator, const ExactSums& exact) {
  Sums mine;
  if (Status reduced = reduce(communicator, mine); !reduced) return reduced;
  compare(exact, mine);
  std::array<double, 5> all = {mine.sent, mine.dense, mine.squares, mine.running_squares, mine.residual_squares};
  if (Status summed = communicator.call(allreduce(all, all)); !summed) return summed;
  const double ranks = communicator.size();
  series_.bytes.push_back(all[0] / ranks);
  series_.dense_bytes.push_back(all[1] / ranks);
  series_.error.push_back(relative(all[2] / ranks, exact.squares_now()));
  series_.running_error.push_back(relative(all[3] / ranks, exact.squares_so_far()));
  series_.residual.push_back(std::sqrt(all[4]));
  return Status::ok();
}

}  // namespace lacuna::cli
