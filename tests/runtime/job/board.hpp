#pragma once

#include <future>

#include "runtime/job/sharing.hpp"

namespace lacuna::runtime {

/// What the ranks of a job in one process share: the id of rank 0.
class Board {
 public:
  Share share_of(Rank rank) {
    return [this, rank](UniqueId& id, const Deadline&) {
      if (rank == 0) promise_.set_value(id);
      id = id_.get();
      return Status();
    };
  }
  UniqueId id() const { return id_.get(); }

 private:
  std::promise<UniqueId> promise_;
  std::shared_future<UniqueId> id_{promise_.get_future()};
};

}  // namespace lacuna::runtime
