#pragma once

#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "runtime/job/socket.hpp"

/// How a rank above 0 comes to rank 0.
namespace lacuna::runtime {

/// Enters the job at its store, which is at all of these addresses. The errors are those of join().
Result<Membership> visit_store(const Job& job, const std::vector<SocketAddress>& addresses,
                               const MakeAddress& make_address, const Deadline& deadline);

/// Looks for rank 0 at the addresses of its host in turn, and enters the job there. Not all of them need lead to it
/// from this host: at some there may be nobody, or somebody else, who then is passed over.
Result<Membership> look_for_rank_0(const Job& job, const std::vector<SocketAddress>& addresses,
                                   const MakeAddress& make_address, const Deadline& deadline);

}  // namespace lacuna::runtime
