#include "runtime/engine/clients.hpp"

#include <algorithm>
#include <utility>

namespace lacuna::runtime {
namespace {

constexpr std::size_t most_retired = 64;  // communicators whose counters are kept separately after their end

}  // namespace

void Clients::add(Client& client) {
  const std::lock_guard lock(told_);
  serving_.push_back(&client);
}

Client* Clients::find(std::uint64_t id) const {
  const auto found = std::find_if(serving_.begin(), serving_.end(), [&](const Client* one) { return one->id() == id; });
  return found == serving_.end() ? nullptr : *found;
}

void Clients::remember(const Client& client, Reach last) {
  const std::lock_guard lock(told_);
  std::erase(serving_, &client);
  retired_.push_back(std::move(last));
  if (retired_.size() > communicators_told) {
    Posted& forgotten = retired_[retired_.size() - 1 - communicators_told].last;
    forgotten = {.digest = 0, .text = {}, .history = forgotten.history};
  }
  if (retired_.size() > most_reaches) retired_.pop_front();
}

void Clients::retire(const Client& client, Reach last, const TickScale::Line& scale) {
  remember(client, std::move(last));
  if (retired_counters_.size() == most_retired) {
    CommunicatorCounters& together = retired_counters_[0];
    together += retired_counters_[1];
    together.id = 0;
    together.rank = -1;
    together.size = 0;
    retired_counters_.erase(retired_counters_.begin() + 1);
  }
  retired_counters_.push_back(client.counters(scale));
}

std::vector<Reach> Clients::reached() const {
  std::vector<Reach> all;  // a goodbye holds the first most_reaches of them
  for (const Client* client : serving_) all.push_back(client->reach());
  all.insert(all.end(), retired_.rbegin(), retired_.rend());
  return all;
}

std::optional<Posted> Clients::posted(std::uint64_t id, std::uint32_t run) const {
  const std::lock_guard lock(told_);
  if (Client* client = find(id)) return client->runs().posted(run);
  for (const Reach& one : retired_) {
    if (one.communicator == id && comes_before(run, one.next_run)) return posted_at(one, run);
  }
  return std::nullopt;
}

std::vector<CommunicatorCounters> Clients::counters(const TickScale::Line& scale) const {
  std::vector<CommunicatorCounters> all = retired_counters_;
  for (const Client* client : serving_) all.push_back(client->counters(scale));
  return all;
}

void Clients::restart_measures() {
  for (Client* client : serving_) client->restart_measures();
  for (CommunicatorCounters& retired : retired_counters_) {
    for (MethodCounters& counted : retired.methods) counted.measures.restart();
  }
}

}  // namespace lacuna::runtime
