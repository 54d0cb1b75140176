#pragma once

#include <string>
#include <vector>

#include "runtime/graph/algorithm.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::conformance {

/// A call of a method with some options, served by one of its algorithms.
struct Example {
  const Method* method;
  MethodOptions options;
  const Algorithm* algorithm;
  Hosts hosts;        ///< of the ranks that call
  std::size_t count;  ///< elements
  std::string text;
  Reduction reduction = Reduction::Sum;  ///< or a mean

  Rank size() const { return hosts.size(); }

  /// The call of one rank, without buffers.
  Call call(MethodState& state) const;
  /// Does a job without aggregators accept the call?
  bool is_accepted() const;
  /// The ranks that bring data and get a result. Others may only serve them.
  std::vector<std::size_t> ranks_with_data() const;
  /// What a result is multiplied by to be a sum of what so many ranks bring.
  double terms_in_result(std::size_t ranks) const {
    return reduction == Reduction::Avg ? static_cast<double>(ranks) : 1;
  }
};

/// Examples by each algorithm of a method on these hosts, with these numbers of elements, as far as the calls are
/// accepted. Only algorithms that are by_hosts are called on several hosts. The options are made of their declarations
/// (covering.hpp), and each such choice of them is on many ranks and with many elements, if there are any. Each of
/// `hosts` and each of `counts` is in an example; with test::Cover::Pairs they meet each other and each value of each
/// option. Every second example is a mean, where one is accepted.
std::vector<Example> examples_of_all_collectives(const Method& method, const std::vector<Hosts>& hosts,
                                                 const std::vector<std::size_t>& counts);
/// Those that are served by an allreduce, on one host with so many ranks.
std::vector<Example> examples_of(const Method& method, const std::vector<Rank>& sizes,
                                 const std::vector<std::size_t>& counts = {100});
/// Those that the method writes down (Method::examples), by each of its allreduces that accepts the call.
std::vector<Example> written_examples_of(const Method& method, Rank size, std::size_t count);
/// The method with its options as they are by default, by each of its allreduces that accepts the call.
std::vector<Example> defaults_of(const Method& method, Rank size, std::size_t count);

}  // namespace lacuna::conformance
