#include "algorithms/phases/packing.hpp"

#include "kernels/backend.hpp"
#include "runtime/graph/plan.hpp"

namespace lacuna {
namespace {

/// Calls visit(offset in the caller's buffer, offset in the packed buffer, length) for each stretch, all in bytes.
template <class Visit>
void each_stretch(const PartView& part, std::size_t width, Visit visit) {
  std::size_t packed = 0;
  for (const Stretch& stretch : part.plan.stretches_of(part.part)) {
    visit(stretch.offset * width, packed, stretch.count * width);
    packed += stretch.count * width;
  }
}

struct ScatterStretches {
  static constexpr std::string_view name = "scatter stretches";
  Read from;
  Write to;

  Status operator()(const KernelCall& call) const {
    each_stretch(call.part, size_of(to->dtype), [&](std::size_t callers, std::size_t packed, std::size_t bytes) {
      call.backend.copy({}, {Dtype::U8, to->data + callers, bytes}, from->data + packed);
    });
    return {};
  }
};

}  // namespace

Status GatherStretches::operator()(const KernelCall& call) const {
  each_stretch(call.part, size_of(to->dtype), [&](std::size_t callers, std::size_t packed, std::size_t bytes) {
    call.backend.copy({}, {Dtype::U8, to->data + packed, bytes}, from->data + callers);
  });
  return {};
}

extern const Frame packing_frame = {
    .name = "packing",
    .replaces_both = true,
    .before =
        [](GraphBuilder& g) {
          const Region packed = g.buffer({});
          g.kernel(GatherStretches{.from = GraphBuilder::all_of(Buffer::Input), .to = packed});
          g.replace_both(packed.buffer);
        },
    .after =
        [](GraphBuilder& g) {
          const Region packed = GraphBuilder::all_of(g.stands_for(Buffer::Output));
          g.kernel(ScatterStretches{.from = packed, .to = GraphBuilder::all_of(Buffer::Output)});
        },
};

}  // namespace lacuna
