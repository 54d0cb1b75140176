#include "runtime/graph/packing.hpp"

#include <cstring>

#include "runtime/graph/plan.hpp"

namespace lacuna {
namespace {

/// Visits where each stretch of a packed part lies in the caller's buffer and in the packed one, and its length; bytes.
template <class Visit>
void each_stretch(const PartView& part, std::size_t width, Visit visit) {
  std::size_t packed = 0;
  for (const Stretch& stretch : part.plan.stretches_of(part.part)) {
    visit(stretch.offset * width, packed, stretch.count * width);
    packed += stretch.count * width;
  }
}

Status gather(const KernelCall& call) {
  const Extent &from = call.reads[0], &to = call.writes[0];
  each_stretch(call.part, size_of(to.dtype), [&](std::size_t callers, std::size_t packed, std::size_t bytes) {
    std::memcpy(to.data + packed, from.data + callers, bytes);
  });
  return {};
}

Status scatter(const KernelCall& call) {
  const Extent &from = call.reads[0], &to = call.writes[0];
  each_stretch(call.part, size_of(to.dtype), [&](std::size_t callers, std::size_t packed, std::size_t bytes) {
    std::memcpy(to.data + callers, from.data + packed, bytes);
  });
  return {};
}

constexpr Kernel scatter_stretches = {.name = "scatter stretches", .run = scatter};

}  // namespace

constexpr Kernel gather_stretches = {.name = "gather stretches", .run = gather};

void gather_data(GraphBuilder& g) {
  const Region packed = g.buffer({});
  g.kernel(gather_stretches, {.reads = {GraphBuilder::all_of(Buffer::Input)}, .writes = {packed}});
  g.replace(Buffer::Input, packed.buffer);
  g.replace(Buffer::Output, packed.buffer);
}

void use_kept(GraphBuilder& g) {
  const Region kept = g.buffer({.role = Role::Kept});
  g.replace(Buffer::Input, kept.buffer);
  g.replace(Buffer::Output, kept.buffer);
}

void scatter_data(GraphBuilder& g) {
  const Region packed = GraphBuilder::all_of(g.stands_for(Buffer::Output));
  g.kernel(scatter_stretches, {.reads = {packed}, .writes = {GraphBuilder::all_of(Buffer::Output)}});
}

}  // namespace lacuna
