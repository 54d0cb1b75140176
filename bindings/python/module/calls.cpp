// The calls of all collectives, in all forms. The functions that users see are made of the lists by Python, and end
// here.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "bindings/python/module/communicator.hpp"
#include "bindings/python/module/reduction.hpp"
#include "bindings/python/module/values.hpp"

namespace lacuna::python {
namespace {

constexpr const char* reduction_names[] = {"sum", "avg", "min", "max", "prod"};
constexpr const char* priority_names[] = {"high", "normal", "low"};

std::vector<lacuna_collective_row> read_rows() {
  std::vector<lacuna_collective_row> rows;
  std::size_t count = 0;
  check(lacuna_list_collectives(0, nullptr, &count));
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(LACUNA_COLLECTIVE_ROW_INIT);
    check(lacuna_list_collectives(i, &rows.back(), nullptr));
  }
  return rows;
}

const lacuna_collective_row& row_of(int collective) {
  static const auto& rows = *new std::vector<lacuna_collective_row>(read_rows());
  return rows.at(static_cast<std::size_t>(collective));
}

/// What a function of Python gives for one call. What the collective does not have is None.
struct Given {
  nb::handle x, out, op, counts, offsets, out_counts, out_offsets, received, method, state, sampler;
};

/// Fills one call and its operation from what was given.
struct Filling {
  Operation& operation;
  const Given& given;
  const lacuna_collective_row& row;
  int rank, size, root;
  lacuna_call call = LACUNA_CALL_INIT;
  const Reduction* own = nullptr;  // a reduction of the program's own

  bool reads() const { return row.input != LACUNA_HOLDS_NOTHING && (!row.input_at_root || rank == root); }
  bool writes() const { return row.output != LACUNA_HOLDS_NOTHING && (!row.output_at_root || rank == root); }

  void fill() {
    call.collective = row.collective;
    call.root = root;
    if (row.reduces) take_reduction();
    take_buffers();
    if (row.lengths != LACUNA_LENGTHS_EQUAL) take_blocks();
    if (reads() && writes() && given.out.is_none() && row.input != row.output) take_own_block();
    if (row.reduces && call.reduction == LACUNA_SUM) refuse_truth_values();
  }

  void take_buffers() {
    const bool in_place = reads() && given.out.is_none();
    if (reads()) {
      take(operation.input, given.x, "x", call.input_entries, operation.input_entries);
      call.input = &operation.input.values.c();
    }
    if (!writes()) return;
    if (in_place) {
      if (!keeps_input()) operation.input.values.check_writable("x");
      call.output = call.input;
      return;
    }
    const bool in_x = given.out.is_none();  // this rank has only an output
    take(operation.output, in_x ? given.x : given.out, in_x ? "x" : "out", call.output_entries,
         operation.output_entries);
    operation.output.values.check_writable(in_x ? "x" : "out");
    call.output = &operation.output.values.c();
  }

  /// Does a call in place leave the buffer of this rank as it is? So does the root's broadcast.
  bool keeps_input() const { return row.input_at_root && row.input == row.output && !row.reduces; }

  void take(Side& side, nb::handle object, const char* name, const lacuna_entries*& places, nb::object& owner) {
    if (!nb::isinstance<Entries>(object)) {
      if (own) {
        side.values.take_opaque(object, name, own->size);
      } else {
        side.values.take(object, name);
      }
      return;
    }
    const Entries& entries = nb::cast<const Entries&>(object);
    side.values.take(entries.values, "values");
    side.places.take(entries.places, "places");
    side.places.check_dtype("places", LACUNA_U32, "uint32");
    side.places.check_alike("places", side.values);
    if (&side == &operation.output) side.places.check_writable("places");
    const std::size_t length = operation.method ? std::max<std::size_t>(operation.method->entry_length, 1) : 1;
    if (side.places.c().count * length != side.values.c().count) {
      fail(LACUNA_INVALID_ARGUMENT, "places has " + std::to_string(side.places.c().count) + " elements, values " +
                                        std::to_string(side.values.c().count) + "; it must have " +
                                        std::to_string(length) + " for each place");
    }
    side.entries.places = static_cast<std::uint32_t*>(side.places.c().data);
    side.entries.length = entries.length;
    if (&side == &operation.output) side.entries.found = &operation.found;
    places = &side.entries;
    owner = nb::borrow(object);
  }

  void take_blocks() {
    const bool both = row.input == LACUNA_HOLDS_BLOCKS && row.output == LACUNA_HOLDS_BLOCKS;
    const bool own_output = both && !given.out_counts.is_none();
    if (reads() && row.input == LACUNA_HOLDS_BLOCKS) {
      operation.input.blocks.read(given.counts, given.offsets, size);
      call.input_blocks = &operation.input.blocks.c;
    }
    if (!writes() || row.output != LACUNA_HOLDS_BLOCKS) return;
    operation.output.blocks.read(own_output ? given.out_counts : given.counts,
                                 own_output ? given.out_offsets : given.offsets, size);
    call.output_blocks = &operation.output.blocks.c;
    if (!given.received.is_none()) take_received();
  }

  /// In place, the smaller side of the call is this rank's block of the buffer of the larger one.
  void take_own_block() {
    const bool blocks_come_in = row.input == LACUNA_HOLDS_BLOCKS;
    const Buffer& all = operation.input.values;
    const lacuna_blocks* const table = blocks_come_in ? call.input_blocks : call.output_blocks;
    std::size_t length = all.c().count / static_cast<std::size_t>(size),
                start = static_cast<std::size_t>(rank) * length;
    if (table) {
      length = table->counts[rank];
      start =
          table->offsets ? table->offsets[rank] : std::accumulate(table->counts, table->counts + rank, std::size_t{0});
    }
    operation.own_block = all.c();
    operation.own_block.data = static_cast<char*>(all.c().data) + start * all.element_size();
    operation.own_block.count = length;
    (blocks_come_in ? call.output : call.input) = &operation.own_block;
  }

  void take_received() {
    operation.received.take(given.received, "received");
    operation.received.check_dtype("received", LACUNA_U64, "uint64");
    operation.received.check_writable("received");
    if (operation.received.c().count != static_cast<std::size_t>(size)) {
      fail(LACUNA_INVALID_ARGUMENT, "received has " + std::to_string(operation.received.c().count) +
                                        " elements; it must have one for each of the " + std::to_string(size) +
                                        " ranks");
    }
    operation.output.blocks.c.received = static_cast<std::size_t*>(operation.received.c().data);
  }

  void take_reduction() {
    if (!nb::isinstance<Reduction>(given.op)) {
      call.reduction = number_of(given.op, "op", reduction_names, std::size(reduction_names));
      return;
    }
    own = nb::cast<const Reduction*>(given.op);
    operation.reduction = nb::borrow(given.op);
    call.reduction = LACUNA_OWN;
    call.own = &own->c;
  }

  void refuse_truth_values() {
    if (operation.input.values.is_bool()) {
      fail(LACUNA_INVALID_ARGUMENT, "op is 'sum', but the elements are truth values; allowed: 'max' (or), 'min' (and)");
    }
  }
};

void take_options(Operation& operation, const Given& given, lacuna_options& options) {
  operation.method = method_of(given.method, operation.method_owner);
  if (operation.method) options.method = operation.method->c;
  if (!given.state.is_none()) {
    options.state = object_of<State>(given.state, "state", "lacuna.State, None").c;
    operation.state = nb::borrow(given.state);
  }
  if (!given.sampler.is_none()) {
    options.sampler = &object_of<lacuna_sampler>(given.sampler, "sampler", "lacuna.Sampler, None");
    operation.sampler = nb::borrow(given.sampler);
  }
}

nb::object call(const Communicator& self, int form, int collective, nb::handle x, nb::handle out, nb::handle op,
                int root, nb::handle counts, nb::handle offsets, nb::handle out_counts, nb::handle out_offsets,
                nb::handle received, nb::handle method, nb::handle state, nb::handle algorithm, nb::handle sampler,
                nb::handle priority, nb::handle deadline) {
  const auto handle = self.use();
  auto operation = std::make_unique<Operation>();
  const Given given{x, out, op, counts, offsets, out_counts, out_offsets, received, method, state, sampler};
  Filling filling{*operation, given, row_of(collective), lacuna_rank(handle.get()), lacuna_size(handle.get()), root};
  CallOptions options(algorithm, priority, deadline);
  take_options(*operation, given, options.c);
  filling.fill();
  operation->prepared = static_cast<Form>(form) == Form::Prepare;
  options.c.prepare = operation->prepared ? 1 : 0;
  return carry_out(static_cast<Form>(form), self, std::move(operation), [&](lacuna_request** request) {
    return lacuna_execute(handle.get(), &filling.call, &options.c, request);
  });
}

}  // namespace

CallOptions::CallOptions(nb::handle algorithm, nb::handle priority, nb::handle deadline) {
  if (!algorithm.is_none()) {
    if (!PyUnicode_Check(algorithm.ptr())) fail_type("algorithm", algorithm, "text such as 'ring', None");
    c.algorithm = PyUnicode_AsUTF8(algorithm.ptr());
  }
  c.priority = number_of(priority, "priority", priority_names, std::size(priority_names));
  if (!deadline.is_none()) c.deadline = PyFloat_AsDouble(deadline.ptr());
  if (PyErr_Occurred()) throw nb::python_error();
}

void bind_calls(nb::class_<Communicator>& type) {
  type.def("_call", &call, nb::arg("form"), nb::arg("collective"), nb::arg("x").none(), nb::arg("out").none(),
           nb::arg("op").none(), nb::arg("root"), nb::arg("counts").none(), nb::arg("offsets").none(),
           nb::arg("out_counts").none(), nb::arg("out_offsets").none(), nb::arg("received").none(),
           nb::arg("method").none(), nb::arg("state").none(), nb::arg("algorithm").none(), nb::arg("sampler").none(),
           nb::arg("priority"), nb::arg("deadline").none());
}

}  // namespace lacuna::python
