#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/offered_board.hpp"

// How a communicator is divided into groups.
namespace lacuna {
namespace {

/// Makes a call that other ranks may be in already, so that it is tried again while it is Busy.
Status call_in_step(Communicator& ranks, const Call& call) {
  Status done = ranks.call(call);
  while (done.code() == Code::Busy) {
    if (!ranks.progress()) std::this_thread::yield();
    done = ranks.call(call);
  }
  return done;
}

/// Gathers a value of each rank into `all`.
template <class T>
Call gathering(const T& own, std::vector<T>& all) {
  return {.collective = Collective::Allgather,
          .input = &own,
          .output = all.data(),
          .count = sizeof own,
          .dtype = Dtype::U8};
}

struct Choice {
  std::int32_t colour, key;
};

/// The ranks of the group of this colour, in their order there.
std::vector<Rank> ranks_of_group(int colour, const std::vector<Choice>& all) {
  std::vector<std::pair<std::int32_t, Rank>> together;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].colour == colour) together.emplace_back(all[rank].key, static_cast<Rank>(rank));
  }
  std::sort(together.begin(), together.end());
  std::vector<Rank> ranks;
  for (const auto& [key, rank] : together) ranks.push_back(rank);
  return ranks;
}

/// Gives each group whose ranks are all on one host the memory of a board. All ranks of the communicator make this
/// call, each with the ranks of its own group, or with none. Returns null where a rank of the group can't map the
/// memory, or must not.
Result<std::shared_ptr<std::byte>> share_board(Communicator& whole, const std::vector<Rank>& members, bool may_share) {
  OfferedBoard board(static_cast<Rank>(members.size()));
  const bool leads = may_share && members.front() == whole.rank();
  const auto size = static_cast<std::size_t>(whole.size());
  const MappableSegment offer = leads ? board.make() : MappableSegment();
  std::vector<MappableSegment> offers(size);
  if (Status told = call_in_step(whole, gathering(offer, offers)); !told) return told;
  if (may_share) board.take(offers[static_cast<std::size_t>(members.front())]);
  const std::uint8_t sees = board.memory() != nullptr;
  std::vector<std::uint8_t> all_see(size);
  if (Status told = call_in_step(whole, gathering(sees, all_see)); !told) return told;
  const bool is_shared =
      std::all_of(members.begin(), members.end(), [&](Rank rank) { return all_see[static_cast<std::size_t>(rank)]; });
  return is_shared ? board.memory() : nullptr;
}

}  // namespace

Result<std::optional<Communicator>> Communicator::split(int colour, int key) {
  const Choice mine{colour, key};
  std::vector<Choice> all(static_cast<std::size_t>(size()));
  if (Status told = call(gathering(mine, all)); !told) return told;
  const std::vector<Rank> ranks = colour >= 0 ? ranks_of_group(colour, all) : std::vector<Rank>();
  std::vector<Rank> members;
  for (Rank rank : ranks) members.push_back(job_ranks()[static_cast<std::size_t>(rank)]);

  const JobState& job = *group_->job;
  const bool may_share =
      !ranks.empty() && job.config.board && job.aggregators == 0 && job.hosts.of(members).count() == 1;
  const auto board = share_board(*this, ranks, may_share);
  if (!board) return board.status();
  std::optional<Communicator> made;
  if (colour >= 0) {
    const std::uint64_t id = group_->communicator.next_id(static_cast<std::uint64_t>(colour));
    const Group group = job.group(std::move(members));
    made = Communicator(make_group(group_->job, id, group_->key_of_part(colour), group, *board));
  }
  const Status introduced = made ? introduce(*made->group_) : Status();
  ++group_->splits;
  // Nobody may send to a communicator that a peer does not have yet.
  Status everywhere = call_in_step(*this, {.collective = Collective::Barrier});
  if (!everywhere || !introduced) return everywhere ? introduced : everywhere;
  return made;
}

Result<std::optional<Communicator>> Communicator::subgroup(std::span<const Rank> ranks) {
  std::vector<int> places(static_cast<std::size_t>(size()), no_group);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= size()) {
      return Status(Code::InvalidArgument, fmt::format("subgroup: rank {} is not in this communicator, must be 0 .. {}",
                                                       ranks[i], size() - 1));
    }
    int& place = places[static_cast<std::size_t>(ranks[i])];
    if (place != no_group) {
      return Status(Code::InvalidArgument, fmt::format("subgroup: rank {} stands twice in the list", ranks[i]));
    }
    place = static_cast<int>(i);
  }
  const int mine = places[static_cast<std::size_t>(rank())];
  return split(mine == no_group ? no_group : 0, mine);
}

}  // namespace lacuna
