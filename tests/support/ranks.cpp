#include "tests/support/ranks.hpp"

#include <thread>

#include "algorithms/registry/registry.hpp"
#include "tests/support/configured_kernels.hpp"

namespace lacuna::test {

namespace {

constexpr std::uint64_t communicator_id = 7;
constexpr int idle_sweeps = 1024;  // no drawn delay and no computation of a mock device lasts longer

}  // namespace

runtime::ExecutorOptions quick_executor() {
  runtime::ExecutorOptions options;
  options.max_runs = 16;
  options.deadline = std::chrono::seconds(60);
  options.spin = std::chrono::microseconds(0);
  return options;
}

Ranks::Ranks(Rank size, const RanksOptions& options) {
  runtime::ExecutorOptions engine = options.executor;
  if (!engine.kernels) engine.kernels = &configured_kernels();
  auto transports = make_inproc(size, options.network);
  const Hosts hosts = (options.hosts.empty() ? Hosts(size) : Hosts(options.hosts)).with_board(options.have_board);
  const auto board = hosts.has_board() ? Board::local_memory(size) : nullptr;
  std::vector<std::vector<std::byte>> addresses;
  for (const auto& transport : transports) addresses.push_back(transport->address());
  for (Rank rank = 0; rank < size; ++rank) {
    auto& transport = transports[static_cast<std::size_t>(rank)];
    if (options.wrap) transport = options.wrap(rank, std::move(transport));
    const bool on_device = options.devices == OnDevice::All || (options.devices == OnDevice::Odd && rank % 2 == 1);
    devices_.push_back(on_device ? std::make_unique<DeviceCalls>(test_device_of(rank)) : nullptr);
    engine.device = on_device ? &test_device_of(rank).device() : options.executor.device;
    executors_.push_back(std::make_unique<runtime::Executor>(std::move(transport), rank, size, engine));
    communicators_.push_back(
        std::make_unique<runtime::Communicator>(*executors_.back(), communicator_id, Group(size), hosts));
    const Doorbell::Address bell = options.have_bells ? executors_.back()->doorbell() : Doorbell::Address();
    if (board) communicators_.back()->share({board, size, rank, bell});
  }
  for (auto& executor : executors_) static_cast<void>(executor->connect(addresses));
}

Ranks::~Ranks() {
  for (auto& executor : executors_) static_cast<void>(executor->close(std::chrono::milliseconds(0)));
  communicators_.clear();
}

Counters Ranks::counters(Rank rank) {
  Counters all;
  for (Rank peer = 0; peer < size(); ++peer) all += executor(rank).counters(peer);
  return all;
}

Result<runtime::Run*> Ranks::post(Rank rank, const Call& call) {
  const auto algorithm = select_algorithm(call, communicator(rank).hosts());
  if (!algorithm) return algorithm.status();
  DeviceCalls* const device = devices_[static_cast<std::size_t>(rank)].get();
  if (!device) return communicator(rank).post(call, **algorithm);
  auto posted = communicator(rank).post(device->moved(call, rank, size()), **algorithm);
  device->note_run(posted ? *posted : nullptr);
  return posted;
}

bool Ranks::sweep() {
  bool moved = false;
  for (std::size_t rank = 0; rank < executors_.size(); ++rank) {
    moved = executors_[rank]->progress() || moved;
    if (devices_[rank]) devices_[rank]->bring_back();
  }
  if (!moved) {
    for (auto& device : devices_) {
      if (device) device->idle();
    }
  }
  return moved;
}

bool Ranks::sweep_until(const std::function<bool()>& done) {
  for (int idle = 0; idle < idle_sweeps; ++idle) {
    if (done()) return true;
    if (sweep()) idle = 0;
  }
  return done();
}

bool Ranks::sweep_for(std::chrono::milliseconds time, const std::function<bool()>& done) {
  const auto until = runtime::Clock::now() + time;
  while (!done()) {
    if (runtime::Clock::now() >= until) return false;
    sweep();
  }
  return true;
}

std::vector<Status> Ranks::run(const std::vector<Call>& calls, std::vector<Report>* reports) {
  std::vector<Status> outcome(calls.size());
  std::vector<runtime::Run*> runs(calls.size(), nullptr);
  for (Rank rank = 0; rank < size(); ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    auto posted = post(rank, calls[i]);
    if (posted) {
      runs[i] = *posted;
    } else {
      outcome[i] = posted.status();
    }
  }
  const auto ended = [&] {
    for (const runtime::Run* run : runs) {
      if (run && !run->finished) return false;
    }
    return true;
  };
  if (!sweep_until(ended)) {
    const Status stuck(Code::Internal, "nothing moves any more:\n" + waiting_for(runs));
    for (auto& communicator : communicators_) communicator->fail(stuck);
  }
  sweep_until([&] {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i] && !communicators_[i]->reclaimed(*runs[i])) return false;
    }
    return true;
  });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i]) continue;
    if (devices_[i]) devices_[i]->bring_back();
    outcome[i] = runs[i]->status;
    if (reports && outcome[i]) (*reports)[i] = communicators_[i]->report(*runs[i]);
    communicators_[i]->release(*runs[i]);
  }
  return outcome;
}

Status Ranks::run_on(Rank rank, const Call& call) {
  auto posted = post(rank, call);
  if (!posted) return posted.status();
  Status status = communicator(rank).wait(**posted);
  if (auto& device = devices_[static_cast<std::size_t>(rank)]) device->bring_back();
  communicator(rank).release(**posted);
  return status;
}

void Ranks::each_in_thread(const std::function<void(Rank)>& body) {
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size(); ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

std::string Ranks::waiting_for(const std::vector<runtime::Run*>& by_rank) {
  std::string text;
  for (std::size_t i = 0; i < by_rank.size(); ++i) {
    if (!by_rank[i] || by_rank[i]->finished) continue;
    const Status waits = communicators_[i]->wait(*by_rank[i], std::chrono::milliseconds(0));
    text += "  rank " + std::to_string(i) + ": " + std::string(waits.message()) + "\n";
  }
  return text;
}

}  // namespace lacuna::test
