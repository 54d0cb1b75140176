#include <array>
#include <cstdio>
#include <lacuna/algorithms/registry/registry.hpp>
#include <lacuna/kernels/backend.hpp>
#include <lacuna/kernels/elements.hpp>
#include <lacuna/lacuna.hpp>
#include <lacuna/runtime/graph/builder.hpp>
#include <span>
#include <vector>

// A program with an algorithm of its own, which computes by a kernel of its own: each rank adds the inputs of all ranks
// in the order of the ranks.
namespace {

namespace kernels = lacuna::kernels;

struct AddInOrder {
  static constexpr std::string_view name = "add in order";
  lacuna::Reads terms;
  lacuna::Write sum;

  lacuna::Status operator()(const lacuna::KernelCall& call) const {
    call.backend.clear({sum->dtype, sum->data, sum->count});
    for (const lacuna::Extent& term : terms) {
      kernels::with_element(sum->dtype, [&]<class T>(kernels::Element<T>) { add<T>(term); });
    }
    return {};
  }

 private:
  template <class T>
  void add(const lacuna::Extent& term) const {
    for (std::size_t i = 0; i < sum->count; ++i) {
      const auto both = kernels::widen(kernels::load<T>(sum->data, i)) + kernels::widen(kernels::load<T>(term.data, i));
      kernels::store(sum->data, i, kernels::narrow<T>(both));
    }
  }
};

void build(lacuna::GraphBuilder& g) {
  std::vector<lacuna::Region> terms;
  for (lacuna::Rank peer = 0; peer < g.size(); ++peer) {
    if (peer != g.position()) g.send(g.input(), peer);
  }
  for (lacuna::Rank peer = 0; peer < g.size(); ++peer) {
    terms.push_back(peer == g.position() ? g.input() : g.room_for(g.input()));
    if (peer != g.position()) g.receive(terms.back(), peer);
  }
  g.kernel(AddInOrder{.terms = terms, .sum = g.output()});
}

const lacuna::Algorithm in_order = {.collective = lacuna::Collective::Allreduce,
                                    .name = "in_order",
                                    .summary = "adds in the order of the ranks",
                                    .symmetric = false,
                                    .build = build};

}  // namespace

int main() {
  if (const auto status = lacuna::register_algorithm(in_order); !status) {
    std::fprintf(stderr, "%s\n", status.to_string().c_str());
    return 1;
  }
  auto ranks = lacuna::Communicator::local(3);
  if (!ranks) return 1;
  // 2^24 + 1 is no float. So the result shows the order of the additions.
  const std::array<std::array<float, 2>, 3> data = {{{16777216, 1}, {1, 2}, {-16777216, 3}}};
  std::array<std::array<float, 2>, 3> sums{};
  std::vector<lacuna::Request> requests;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    auto request = (*ranks)[rank].start(
        lacuna::allreduce<float>(data[rank], sums[rank], lacuna::Reduction::Sum, {.algorithm = "in_order"}));
    if (!request) return 1;
    requests.push_back(*std::move(request));
  }
  for (lacuna::Request& request : requests) {
    if (!request.wait()) return 1;
  }
  for (const auto& sum : sums) {
    if (sum != std::array<float, 2>{0, 6}) return 1;
  }
  std::printf("%.0f %.0f\n", sums[0][0], sums[0][1]);
  return 0;
}
