#include "runtime/graph/walk.hpp"

#include <algorithm>
#include <tuple>

namespace lacuna {

/// One end of a message: it has the send or the receive, which is the step `number`.
struct Walk::End {
  Message message;
  std::size_t number;

  auto channel() const { return std::tuple(message.sender, message.receiver, message.index); }
};

Walk::Walk(std::span<const Graph* const> graphs) : graphs_(graphs) {
  for (std::size_t me = 0; me < graphs.size(); ++me) {
    for (StepId id = 0; id < graphs[me]->steps().size(); ++id) {
      stops_.push_back({&graphs[me]->steps()[id], static_cast<Rank>(me), id, stops_.size()});
    }
  }
  // By number: the other end of the step's message, or the step itself if it has no message.
  std::vector<std::size_t> others(stops_.size(), nobody);
  match(others);
  arrange(others);
}

Walk::Message Walk::message_of(const Stop& at) const {
  const Rank size = graph(at.position).shape().size, peer = (at.position + at.step->peer) % size;
  if (at.step->sends()) return {at.position, peer, at.step->index, at.id, {}};
  const Rank sender = peer % static_cast<Rank>(graphs_.size());
  return {sender, (sender + size - at.step->peer) % size, at.step->index, {}, at.id};
}

std::vector<Walk::End> Walk::ends() const {
  std::vector<End> all;
  for (const Stop& stop : stops_) {
    if (stop.step->sends() || stop.step->receives()) all.push_back({message_of(stop), stop.number});
  }
  std::sort(all.begin(), all.end(), [](const End& a, const End& b) {
    return std::tuple(a.channel(), a.number) < std::tuple(b.channel(), b.number);
  });
  return all;
}

void Walk::match(std::vector<std::size_t>& others) {
  for (const Stop& stop : stops_) {
    if (stop.step->meets()) {
      meeting_.push_back(stop.number);
    } else if (!stop.step->sends() && !stop.step->receives()) {
      others[stop.number] = stop.number;
    }
  }
  if (meeting_.size() == graphs_.size()) {
    for (std::size_t number : meeting_) others[number] = number;
  }
  const End* first = nullptr;  // the first end of the last message
  const std::vector<End> all = ends();
  for (const End& end : all) {
    if (!first || first->channel() != end.channel()) {
      first = &end;
      messages_.push_back(end.message);
      continue;
    }
    Message& message = messages_.back();
    auto& met = end.message.send ? message.send : message.receive;
    if (met) {
      if (!twice_) twice_ = stops_[end.number];
      continue;
    }
    met = end.message.send ? end.message.send : end.message.receive;
    others[first->number] = end.number;
    others[end.number] = first->number;
  }
}

/// Both ends of a message happen once both can. So the steps that either of them waits for are counted together, at the
/// send. All steps that a meeting waits for are counted at its first step.
void Walk::arrange(const std::vector<std::size_t>& others) {
  const auto counted_with = [&](std::size_t number) {
    if (stops_[number].step->meets()) return meeting_.front();
    return stops_[number].step->receives() && others[number] != nobody ? others[number] : number;
  };
  std::vector<std::size_t> waits(stops_.size(), 0), ready;
  for (const Stop& stop : stops_) {
    const std::size_t earlier = graph(stop.position).predecessor_counts()[stop.id];
    waits[counted_with(stop.number)] += earlier + (others[stop.number] == nobody);  // a missing end never comes
  }
  for (const Stop& stop : stops_) {
    if (counted_with(stop.number) == stop.number && waits[stop.number] == 0) ready.push_back(stop.number);
  }
  const auto take = [&](std::size_t number) {
    order_.push_back(stops_[number]);
    each_later(stops_[number], [&](std::size_t next) {
      if (--waits[counted_with(next)] == 0) ready.push_back(counted_with(next));
    });
  };
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const std::size_t number = ready[i];
    take(number);
    if (others[number] != number) take(others[number]);
    if (!stops_[number].step->meets()) continue;
    for (std::size_t other = 1; other < meeting_.size(); ++other) take(meeting_[other]);
  }
  const auto stuck = std::find_if(stops_.begin(), stops_.end(),
                                  [&](const Stop& stop) { return waits[counted_with(stop.number)] != 0; });
  if (stuck != stops_.end()) stuck_ = *stuck;
}

}  // namespace lacuna
