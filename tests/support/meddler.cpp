#include "tests/support/meddler.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lacuna::test {

void Meddler::pass(std::size_t index) {
  show(held[index]);
  passed.push_back(std::move(held[index]));
  held.erase(held.begin() + static_cast<std::ptrdiff_t>(index));
}

Status Meddler::connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) {
  receiver_ = &receiver;
  return inner_->connect(std::move(addresses), *this);
}

void Meddler::on_message(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes) {
  held.push_back({from, {header.begin(), header.end()}, {bytes.begin(), bytes.end()}, Delivery::Eager});
}

void Meddler::on_descriptor(Peer from, std::span<const std::byte> header, Descriptor descriptor) {
  offered_.push_back({from, {header.begin(), header.end()}, descriptor});
}

std::unique_ptr<Meddler::Message> Meddler::take(Descriptor descriptor) {
  const auto at =
      std::find_if(offers_.begin(), offers_.end(), [&](const auto& offer) { return offer.get() == descriptor.handle; });
  if (at == offers_.end()) std::abort();  // a descriptor must be ended exactly once
  auto offer = std::move(*at);
  offers_.erase(at);
  return offer;
}

Started Meddler::fetch(Descriptor descriptor, std::byte* to, Token) {
  const auto offer = take(descriptor);
  std::copy(offer->bytes.begin(), offer->bytes.end(), to);
  return Started::Done;
}

void Meddler::discard(Descriptor descriptor) { take(descriptor); }

bool Meddler::progress() {
  bool moved = inner_->progress();
  for (Offered& one : std::exchange(offered_, {})) {
    Message message{one.from, std::move(one.header), std::vector<std::byte>(one.descriptor.bytes),
                    Delivery::Descriptor};
    if (inner_->fetch(one.descriptor, message.bytes.data(), nullptr) != Started::Done) std::abort();
    held.push_back(std::move(message));
  }
  for (Message& message : std::exchange(shown_, {})) {
    moved = true;
    if (message.delivery == Delivery::Eager) {
      receiver_->on_message(message.from, message.header, message.bytes);
      continue;
    }
    Message& offer = *offers_.emplace_back(std::make_unique<Message>(std::move(message)));
    const bool may_be_read_here = offers_.size() % 2 == 0;
    receiver_->on_descriptor(offer.from, offer.header,
                             {&offer, offer.bytes.size(), may_be_read_here ? offer.bytes.data() : nullptr});
  }
  return moved;
}

Status Meddler::close(std::chrono::milliseconds deadline, const std::function<bool()>& pause, Ending ending) {
  offers_.clear();
  shown_.clear();
  return inner_->close(deadline, pause, ending);
}

Access Meddler::abandon() {
  offers_.clear();
  shown_.clear();
  return inner_->abandon();
}

}  // namespace lacuna::test
