#include "transports/inproc_mailbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace lacuna {

InprocMailbox::InprocMailbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

InprocEvent* InprocMailbox::queue_node() {
  if (spare_.empty()) spare_.push_back(&all_events_.emplace_back());
  InprocEvent* event = spare_.back();
  spare_.pop_back();
  incoming_.push_back(event);
  waiting_.store(incoming_.size());
  return event;
}

void InprocMailbox::take(std::vector<InprocEvent*>& pending, std::vector<InprocEvent*>& finished) {
  spare_.insert(spare_.end(), finished.begin(), finished.end());
  finished.clear();
  pending.insert(pending.end(), incoming_.begin(), incoming_.end());
  incoming_.clear();
  waiting_.store(0);
}

void InprocMailbox::collect(std::vector<InprocEvent*>& pending, std::vector<InprocEvent*>& finished) {
  const std::lock_guard lock(mutex_);
  take(pending, finished);
}

void InprocMailbox::close(std::vector<InprocEvent*>& pending, std::vector<InprocEvent*>& finished) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  take(pending, finished);
}

InprocOffer* InprocMailbox::make_offer(Peer sender, Peer receiver, std::span<const std::byte> bytes, Token token) {
  const std::lock_guard lock(mutex_);
  if (spare_offers_.empty()) spare_offers_.push_back(&all_offers_.emplace_back());
  InprocOffer* offer = spare_offers_.back();
  spare_offers_.pop_back();
  offer->sender = sender;
  offer->receiver = receiver;
  offer->data = bytes.data();
  offer->bytes = bytes.size();
  offer->token = token;
  offer->live = true;
  offer->copy.clear();
  offer->ended.store(false);
  return offer;
}

void InprocMailbox::recycle(InprocOffer& offer) {
  const std::lock_guard lock(mutex_);
  offer.live = false;
  spare_offers_.push_back(&offer);
}

std::vector<InprocOffer*> InprocMailbox::end_offers_to(Peer receiver) {
  const std::lock_guard lock(mutex_);
  std::vector<InprocOffer*> found;
  for (InprocOffer& offer : all_offers_) {
    if (offer.live && offer.receiver == receiver && !offer.ended.exchange(true)) found.push_back(&offer);
  }
  return found;
}

bool InprocMailbox::arm() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(event_.get(), &count, sizeof count);
  armed_.store(true);
  if (empty()) return true;
  armed_.store(false);
  return false;
}

void InprocMailbox::signal() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

}  // namespace lacuna
