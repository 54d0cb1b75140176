#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/graph/step_sets.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// Builds the graph of one position from a program that states what to send, receive and compute, in order. The order
/// between steps is inferred: a step follows every earlier one that touches the same bytes, unless both only read.
/// Pieces and peers wrap around the number of ranks. In place, the two user buffers are one.
class GraphBuilder {
 public:
  /// A symmetric program mentions its position only in sums of pieces and peers; it is written once, at position 0.
  GraphBuilder(const GraphShape& shape, bool symmetric);

  Rank size() const { return shape_.size; }
  Rank position() const { return shape_.position; }
  Collective collective() const { return shape_.collective; }
  bool in_place() const { return shape_.structure.in_place; }
  /// The parameters of this program, by which a method asks for another form of it.
  template <class Struct>
  Struct parameters() const {
    return shape_.structure.parameters.as<Struct>();
  }
  /// Which positions share a host, for programs that are not symmetric, of algorithms that are by_hosts.
  const Hosts& hosts();

  /// All data of the part, of collectives without blocks.
  Region input() const { return canonical({.buffer = Buffer::Input, .of = 1, .begin = 0, .end = 1}); }
  Region output() const { return canonical({.buffer = Buffer::Output, .of = 1, .begin = 0, .end = 1}); }
  /// One of size() pieces. Where a collective has blocks (reduce_scatter's input, allgather's output), piece i is the
  /// block of the rank at position i; a buffer of such a collective that holds no blocks is the own piece.
  Region input(Rank piece) const { return canonical(piece_of(Buffer::Input, piece)); }
  Region output(Rank piece) const { return canonical(piece_of(Buffer::Output, piece)); }
  /// Pieces begin .. end-1 of `of`, for programs that are not symmetric, of collectives without blocks.
  Region input(Rank begin, Rank end, Rank of) { return range_of(Buffer::Input, begin, end, of); }
  Region output(Rank begin, Rank end, Rank of) { return range_of(Buffer::Output, begin, end, of); }
  /// Temporary block `slot`, 0 .. 255, as the place of `like`.
  Region scratch(int slot, Region like);
  /// All of a buffer of the part's own.
  Region buffer(const BufferInfo& info);
  /// What the caller has as its input, or its output, is not laid out as the part's data: it lies where this finds it.
  /// Then its region is all of it. Not in place. Say so before any step.
  void locate(Buffer callers, Extent (*where)(const PartView& part));
  /// All of a buffer that has been made, of the caller's too, whatever stands for them.
  static constexpr Region all_of(Buffer buffer) { return {.buffer = buffer, .of = 1, .begin = 0, .end = 1}; }
  /// So many elements of a buffer as the value says, from the place that another says.
  static Region counted(Region buffer, Value length, Value offset = Value::None) {
    return {.buffer = buffer.buffer,
            .of = Region::counted,
            .begin = static_cast<std::uint32_t>(offset),
            .end = static_cast<std::uint32_t>(length)};
  }
  /// The same counted regions of one buffer, of which no two share an element: steps that touch different ones do not
  /// wait for each other. If two of them do share one when a part runs, its call fails. A program declares at most 255
  /// times.
  std::vector<Region> disjoint(std::vector<Region> regions);
  /// A number that a kernel of this position defines, and messages carry.
  Value value() { return add_value({}); }
  /// One that kernels define alike on all positions: messages as long need not say it. The program of each position
  /// asks for the same ones in the same order.
  Value agreed() { return add_value({Origin::Agreed, agreed_++}); }
  /// One that positions `from` and `to` know, of which one is the own position. A kernel of each defines it, and both
  /// must get the same number. A message of this length from `from` to `to` does not say it, and is not sent if it is
  /// 0. Both programs ask for the values of one direction in the same order.
  Value paired(Rank from, Rank to);
  /// No bytes: its message is only a signal.
  static Region signal() { return {}; }

  StepId send(Region from, Rank to_peer);
  StepId receive(Region to, Rank from_peer);
  /// to = with op what arrives
  StepId receive_reduce(Region to, Region with, Rank from_peer);
  /// A message of any length stays where it lands, until the last step that reads it has ended: its region. The
  /// buffer's capacity is the most that may come.
  Region receive_landed(Rank from_peer, BufferInfo landed);
  StepId copy(Region to, Region from);
  /// to = to op from
  StepId reduce(Region to, Region from);
  /// A step that runs the kernel over what its ports are given.
  template <KernelStruct Struct>
  StepId kernel(Struct kernel) {
    return add_kernel(kernel_step(std::move(kernel)));
  }
  StepId clear(Region region);
  /// This position does not get what others have here.
  void lacks(Region region) { tables_.lacking.push_back(region); }
  /// What follows this part is chosen from these values, which are agreed (Method::follow).
  void decide(std::vector<Value> values);
  /// The step that wrote exactly this region last gave its final value, with the terms of so many ranks, 0: of all.
  /// There the result is scaled: avg divides. `note` is what Method::scale is to know of it.
  void finish(Region region, Rank contributors = 0, std::uint64_t note = 0);
  /// An order that the regions do not show: `step` starts after `earlier` has ended.
  void after(StepId step, StepId earlier);

  // For frames.

  /// What the program calls its input, or its output, is this buffer from now on.
  void replace(Buffer callers, Buffer with) { stands_for_[static_cast<std::size_t>(callers)] = with; }
  /// The program calls both by this buffer's name: it is in place.
  void replace_both(Buffer with) { stands_for_ = {with, with}; }
  Buffer stands_for(Buffer callers) const { return stands_for_[static_cast<std::size_t>(callers)]; }
  const std::vector<Step>& steps() const { return steps_; }
  /// Calls visit(region, whether it is written) for all that a step so far touches.
  template <class Visit>
  void each_access(const Step& step, Visit visit) const {
    if (step.reads()) visit(step.from, false);
    if (step.writes()) visit(step.to, true);
    if (step.kind == StepKind::Kernel) Graph::each_access(tables_.kernels[step.index], visit);
  }
  /// What stands around the program; null: nothing.
  const Frame* frame() const { return shape_.structure.frame; }

  /// The program has no such form, and what it says is why.
  void refuse(std::string why);
  /// Ok, or the first reason why there is no such graph.
  const Status& status() const { return status_; }
  Graph build() &&;

 private:
  struct Access {
    StepId step;
    Region region;
  };
  /// Of one buffer, those that a later step may have to follow.
  struct Accesses {
    std::vector<Access> reads, writes;
  };

  Region canonical(Region region) const;
  Region in_one_buffer(Region region) const;
  Region piece_of(Buffer buffer, Rank piece) const;
  Region range_of(Buffer buffer, Rank begin, Rank end, Rank of);
  Rank wrap(Rank value) const;
  Value add_value(const ValueInfo& info);
  Buffer add_buffer(const BufferInfo& info);
  Step receiving(StepKind kind, Region to, Region with, Rank from_peer);
  StepId add(Step step);
  StepId add_kernel(KernelStep step);
  void add_access(StepId step, const Region& region, bool write, std::vector<StepId>& earlier);
  void follow_definition(StepId step, Value value, std::vector<StepId>& earlier);
  void define(StepId step, Value value);
  void note_access(StepId step, const Region& region, bool write);
  void follow_earlier(StepId step, const Region& region, bool write, std::vector<StepId>& earlier);
  void add_pruned_edges(StepId step, std::vector<StepId> earlier);
  bool is_ancestor(StepId ancestor, StepId step) const;

  bool is_told(const Region& region) const;
  void check_block(const Region& region);
  void check_room(const Region& region);
  void release_landed();

  GraphShape shape_;
  bool symmetric_;
  Status status_;
  std::vector<Step> steps_;
  std::vector<Graph::Edge> edges_;
  std::vector<Accesses> live_;                  // by buffer
  StepSets ancestors_;                          // by step: every step that ends before it
  std::vector<std::uint32_t> sent_, received_;  // messages so far, by peer offset
  GraphTables tables_;
  std::vector<std::optional<StepId>> definitions_;  // by value
  std::uint32_t agreed_ = 0;                        // values so far
  std::array<Buffer, 2> stands_for_ = {Buffer::Input, Buffer::Output};
  std::array<Buffer, 256> slots_{};  // of scratch; Input: not used yet
};

}  // namespace lacuna
