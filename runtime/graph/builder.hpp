#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/graph/step_sets.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

/// What a message brings: a term, which is what one rank gave, or what has been reduced.
enum class Brings : bool { Term, Sum };

/// Builds the graph of one position from a program that states what to send, receive and compute, in order. The builder
/// infers which steps wait for each other: a step follows every earlier one that touches the same bytes, unless both
/// only read. Pieces and peers wrap around the number of ranks. In place, the caller's two buffers are one.
/// Thread rule: one thread at a time.
class GraphBuilder {
 public:
  /// A symmetric program uses its position only in sums of pieces and peers. It runs once, at position 0.
  GraphBuilder(const GraphShape& shape, bool symmetric);

  Rank size() const { return shape_.size; }
  Rank position() const { return shape_.position; }
  Collective collective() const { return shape_.collective; }
  bool in_place() const { return shape_.structure.in_place; }
  /// The parameters of this program, by which a method chooses the form of the program.
  template <class Struct>
  Struct parameters() const {
    return shape_.structure.parameters.as<Struct>();
  }
  /// Says which positions share a host. Only algorithms that are by_hosts and not symmetric may ask.
  const Hosts& hosts();

  /// All data of the part. Only for collectives without blocks.
  Region input() const { return canonical({.buffer = Buffer::Input, .of = 1, .begin = 0, .end = 1}); }
  Region output() const { return canonical({.buffer = Buffer::Output, .of = 1, .begin = 0, .end = 1}); }
  /// One of size() pieces. If a collective has blocks (as the input of reduce_scatter or the output of allgather),
  /// piece i is the block of the rank at position i. A buffer of such a collective that holds no blocks is the piece of
  /// this position.
  Region input(Rank piece) const { return canonical(piece_of(Buffer::Input, piece)); }
  Region output(Rank piece) const { return canonical(piece_of(Buffer::Output, piece)); }
  /// Pieces begin .. end-1 of `of`. Only for collectives without blocks, in programs that are not symmetric.
  Region input(Rank begin, Rank end, Rank of) { return range_of(Buffer::Input, begin, end, of); }
  Region output(Rank begin, Rank end, Rank of) { return range_of(Buffer::Output, begin, end, of); }
  /// The scratch buffer with this number, 0 .. 255. It has room for the data of `like`.
  Region scratch(int number, Region like);
  /// A buffer of its own with room for the data of `like`, for as many as there are. `info` says what its elements are.
  Region room_for(Region like, BufferInfo info = {});
  /// Returns these data where the other ranks of the host can read them: in the same place, or, if they can't map the
  /// caller's buffers, in a copy. A program sends them from there, best to several peers. Only a program whose
  /// Algorithm has maps_copies set may call it.
  Region mappable(Region region);
  /// Adds a buffer to the graph's table, and returns all of it.
  Region buffer(const BufferInfo& info);
  /// Says that the caller's input, or its output, is not laid out as the part's data. It lies where the function finds
  /// it, and its region is all of it. Call this before the first step, and not in place.
  void locate(Buffer callers, Extent (*where)(const PartView& part));
  /// All of a buffer in the graph's table. For Input and Output it is the caller's buffer, even if a frame has replaced
  /// it.
  static constexpr Region all_of(Buffer buffer) { return {.buffer = buffer, .of = 1, .begin = 0, .end = 1}; }
  /// As many elements of a buffer as `length` says. They begin at the element that `offset` says, or else at 0.
  static Region counted(Region buffer, Value length, Value offset = Value::None) {
    return {.buffer = buffer.buffer,
            .of = Region::counted,
            .begin = static_cast<std::uint32_t>(offset),
            .end = static_cast<std::uint32_t>(length)};
  }
  /// Declares that no two of these counted regions of one buffer share an element, and returns the regions that steps
  /// are to use. Steps that touch different ones do not wait for each other. If two of them share an element when a
  /// part runs, the call fails. A program may declare this 255 times.
  std::vector<Region> disjoint(std::vector<Region> regions);
  /// A value that a kernel of this position defines. Messages of this length carry it.
  Value value() { return add_value({}); }
  /// A value that kernels define alike on all positions. Messages of this length need not carry it. All positions must
  /// ask for their agreed values in the same order.
  Value agreed() { return add_value({Origin::Agreed, agreed_++}); }
  /// A value that the positions `from` and `to` know. One of them is this position. A kernel of each defines the value,
  /// and both must get the same number. A message of this length from `from` to `to` does not carry it, and is not sent
  /// if it is 0. Both positions must ask for the values of one direction in the same order.
  Value paired(Rank from, Rank to);
  /// A region without bytes, for a message that is only a signal.
  static Region signal() { return {}; }

  StepId send(Region from, Rank to_peer);
  StepId receive(Region to, Rank from_peer);
  /// to = with op the bytes that arrive. The terms of a mean are scaled when they are reduced, so that a program whose
  /// collective has means says whether the message brings one. Of `with` the builder knows it.
  StepId receive_reduce(Region to, Region with, Rank from_peer, Brings brings);
  /// Receives a message of any length, up to the capacity of the buffer. It stays where it lands until the last step
  /// that reads it has ended. Returns the region of the message.
  Region receive_landed(Rank from_peer, BufferInfo landed);
  /// to = the `from` of all positions, reduced in the order of the ranks. Each position writes its row of the board
  /// that all share. A program may do this once, on all positions alike. Only algorithms that are on_board may do it.
  StepId board_reduce(Region to, Region from);
  StepId copy(Region to, Region from);
  /// to = to op from. Both are of one rank, and so is the result: a term stays a term.
  StepId reduce(Region to, Region from);
  /// A step that runs the kernel on what its ports have been given.
  template <KernelStruct Struct>
  StepId kernel(Struct kernel) {
    return add_kernel(kernel_step(std::move(kernel)));
  }
  StepId clear(Region region);
  /// Says that this position does not get what others have in this region.
  void lacks(Region region) { tables_.lacking.push_back(region); }
  /// Says that the part that follows is chosen from these values (Method::follow). They must be agreed.
  void decide(std::vector<Value> values);
  /// Says that the last step that wrote exactly this region gave it its final value, with the terms of so many ranks;
  /// 0: of all ranks. That step scales the value; for avg, it divides. Method::scale gets the `note`.
  void finish(Region region, Rank contributors = 0, std::uint64_t note = 0);
  /// Makes `step` start after `earlier` has ended, where the regions do not show this. `step` must be the newest.
  void after(StepId step, StepId earlier);

  // These are for frames.

  /// From now on, the program's input, or its output, is this buffer.
  void replace(Buffer callers, Buffer with) { stands_for_[static_cast<std::size_t>(callers)] = with; }
  /// From now on, this buffer is both the program's input and its output, so that the program is in place.
  void replace_both(Buffer with) { stands_for_ = {with, with}; }
  Buffer stands_for(Buffer callers) const { return stands_for_[static_cast<std::size_t>(callers)]; }
  const std::vector<Step>& steps() const { return steps_; }
  /// Does a step of the program meet those of all other positions?
  bool meets() const;
  /// Calls visit(region, whether it is written) for all that one of these steps touches.
  template <class Visit>
  void each_access(const Step& step, Visit visit) const {
    if (step.reads()) visit(step.from, false);
    if (step.writes()) visit(step.to, true);
    if (step.kind == StepKind::Kernel) Graph::each_access(tables_.kernels[step.index], visit);
  }
  /// The frame around the program, or null.
  const Frame* frame() const { return shape_.structure.frame; }

  /// Says why the graph can't be built. The first reason stays.
  void refuse(std::string why);
  /// Ok, or the first reason why the graph can't be built.
  const Status& status() const { return status_; }
  Graph build() &&;

 private:
  struct Access {
    StepId step;
    Region region;
  };
  /// The accesses to one buffer that a later step may have to follow.
  struct Accesses {
    std::vector<Access> reads, writes;
  };

  Region canonical(Region region) const;
  Region in_one_buffer(Region region) const;
  Region in_data(Region like);
  Region piece_of(Buffer buffer, Rank piece) const;
  Region range_of(Buffer buffer, Rank begin, Rank end, Rank of);
  Rank wrap(Rank value) const;
  Value add_value(const ValueInfo& info);
  Buffer add_buffer(const BufferInfo& info);
  bool is_term(const Region& region) const;
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
  StepSets ancestors_;                          // by step: all steps that end before it starts
  std::vector<std::uint32_t> sent_, received_;  // number of messages so far, by Step::peer
  GraphTables tables_;
  std::vector<std::optional<StepId>> definitions_;  // by value: the step that defines it
  std::uint32_t agreed_ = 0;                        // number of agreed values so far
  std::array<Buffer, 2> stands_for_ = {Buffer::Input, Buffer::Output};
  std::array<Buffer, 256> scratch_{};  // by number; Input: there is none yet
};

}  // namespace lacuna
