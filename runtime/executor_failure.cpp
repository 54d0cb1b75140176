#include <sys/epoll.h>

#include <algorithm>

#include "runtime/communicator.hpp"
#include "runtime/executor.hpp"
#include "runtime/log.hpp"

namespace lacuna::runtime {

std::vector<Reach> Executor::reached() const {
  Lock lock(*this);
  std::vector<Reach> all;  // the youngest first: a goodbye has room for so many
  for (const Communicator* communicator : communicators_) all.push_back({communicator->id_, communicator->next_run_});
  all.insert(all.end(), retired_.rbegin(), retired_.rend());
  return all;
}

std::optional<Watched::Posted> Executor::posted(std::uint64_t communicator, std::uint32_t run) {
  Lock lock(*this);
  for (const Communicator* one : communicators_) {
    if (one->id_ == communicator) return one->posted(run);
  }
  for (const Reach& one : retired_) {
    if (one.communicator == communicator && run < one.next_run) return Posted{};
  }
  return std::nullopt;
}

void Executor::fail(const Status& verdict) {
  {
    Lock lock(*this);
    if (state_ == State::Failed || state_ == State::Closed) return;
    state_ = State::Failed;
    verdict_ = verdict;
    for (Communicator* communicator : communicators_) fail(*communicator, verdict);
    if (transport_->event_fd() >= 0) ::epoll_ctl(event_fd_, EPOLL_CTL_DEL, transport_->event_fd(), nullptr);
  }
  signal(wake_fd_);
  signal(attention_fd_);
  flush_troubles();
}

void Executor::release() {
  {
    Lock lock(*this);
    if (state_ != State::Failed) return;
    transport_->abandon();
    for (Operation* operation : operations_.taken()) {
      operation->fetch ? end_fetch(operation, false) : end_send(operation, false);
    }
  }
  flush_troubles();
}

void Executor::help() {
  bool moved = false;
  {
    Lock lock(*this);
    moved = progress_locked();
  }
  flush_troubles();
  if (moved) signal(attention_fd_);
}

void Executor::fail(Communicator& communicator, const Status& status) {
  if (!communicator.poison_.is_ok()) return;
  record_.tick();
  communicator.poison_ = status;
  if (communicator.unfinished_ > 0) {
    log_info(Subsystem::Executor, "{} calls fail: {}", communicator.unfinished_, status.message());
  }
  purge(communicator);
  for (std::size_t i = 0; i < communicator.runs_.size(); ++i) {
    Run* run = communicator.runs_[i];
    if (!run) continue;
    for (auto& part : run->active) {
      for (StepState& state : part->states) {
        if (state.landing) release_landing(std::exchange(state.landing, nullptr));
      }
    }
    finish_run(*run, status);
  }
  while (!communicator.messages_.empty()) {
    Run& message = *communicator.messages_.back();
    for (auto& part : message.active) {
      if (Landing* landing = std::exchange(part->states[0].landing, nullptr)) release_landing(landing);
    }
    finish_run(message, status);
  }
  for (Landing* landing : communicator.mailbox_.clear()) release_landing(landing);
  for (auto& messages : communicator.early_) {
    for (Landing* landing : messages) release_landing(landing);
    messages.clear();
  }
  if (sleepers_ > 0) signal(wake_fd_);
}

void Executor::purge(const Communicator& communicator) {
  const auto belongs = [&](const StepOf& step) { return step.part->run->communicator == &communicator; };
  ready_.remove_if(belongs);
  for (Link& peer : links_) {
    peer.sends.remove_if(belongs);
    peer.fetches.remove_if([&](const Fetch& fetch) {
      if (!belongs(fetch.step)) return false;
      discards_.push_back(fetch.descriptor);
      return true;
    });
  }
}

void Executor::after_handlers() {
  for (std::size_t i = 0; i < failures_.size(); ++i) fail(*failures_[i].first, failures_[i].second);
  failures_.clear();
  if (state_ == State::Running) {
    for (const Descriptor& descriptor : discards_) transport_->discard(descriptor);
  }
  discards_.clear();
}

}  // namespace lacuna::runtime
