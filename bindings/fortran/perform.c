#include <stdlib.h>

#include "shim.h"

/* A collective while it is read. */
typedef struct performance {
  lacuna_communicator* communicator;
  const lacuna_fortran_collective* given;
  const lacuna_fortran_how* how;
  lacuna_collective_row row;
  lacuna_fortran_request* made;
  lacuna_fortran_section *input, *output; /* null: the rank has none, or it is a block of the other one */
  lacuna_fortran_section* places[2];      /* of the entries of the input and of the output; null: it is no list */
  bool reads, writes;
  size_t size, rank;
  size_t *counts[2], *offsets[2]; /* of the input and of the output; null: all blocks are equally long */
} performance;

static lacuna_status find_row(performance* all) {
  lacuna_collective_row empty = LACUNA_COLLECTIVE_ROW_INIT;
  size_t count = 0;
  lacuna_list_collectives(0, NULL, &count);
  for (size_t i = 0; i < count; ++i) {
    const size_t likely = ((size_t)all->given->collective + i) % count; /* the list has the order of the numbers */
    all->row = empty;
    lacuna_list_collectives(likely, &all->row, NULL);
    if (all->row.collective == all->given->collective) return LACUNA_OK;
  }
  return lacuna_fortran_refuse(LACUNA_UNSUPPORTED, "this library has no collective %d", (int)all->given->collective);
}

/* Which buffers the rank has, and which of them the program has given. */
static lacuna_status read_sides(performance* all) {
  const lacuna_fortran_collective* given = all->given;
  const bool at_root = !given->root || *given->root == (int32_t)all->rank;
  all->reads = all->row.input != LACUNA_HOLDS_NOTHING && (at_root || !all->row.input_at_root);
  all->writes = all->row.output != LACUNA_HOLDS_NOTHING && (at_root || !all->row.output_at_root);
  const bool input_is_block = all->writes && all->row.output == LACUNA_HOLDS_BLOCKS;
  const bool output_is_block = all->reads && all->row.input == LACUNA_HOLDS_BLOCKS;
  const bool alike = all->reads && all->writes && all->row.input == all->row.output;
  if (all->reads && !given->input && !(given->output && (input_is_block || alike))) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "input is missing");
  }
  if (all->writes && !given->output && !(given->input && (output_is_block || alike))) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "output is missing");
  }
  return LACUNA_OK;
}

/* Reads the sections. Where the call is in place, there is only one, which is written. */
static lacuna_status read_sections(performance* all) {
  const CFI_cdesc_t* input = all->reads ? all->given->input : NULL;
  const CFI_cdesc_t* output = all->writes ? all->given->output : NULL;
  const bool in_place = all->writes && (!output || !input || input == output);
  if (in_place && !output) {
    output = input;
    input = NULL;
  } else if (in_place) {
    input = NULL;
  }
  const lacuna_fortran_lists* lists = &all->given->lists;
  const CFI_cdesc_t* arrays[] = {input, lists->places, output, lists->output_places};
  const char* const names[] = {"input", "places", in_place && all->given->input ? "input" : "output", "output_places"};
  lacuna_fortran_section** const sections[] = {&all->input, &all->places[0], &all->output, &all->places[1]};
  all->made = lacuna_fortran_make_request((input ? 1U : 0) + (lists->places ? 1U : 0),
                                          (output ? 1U : 0) + (lists->output_places ? 1U : 0));
  if (!all->made) return lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  lacuna_fortran_section* next = all->made->section;
  lacuna_status code = LACUNA_OK;
  for (int i = 0; i < 4 && code == LACUNA_OK; ++i) {
    if (!arrays[i]) continue;
    const bool is_places = i % 2 == 1;
    *sections[i] = next++;
    code = lacuna_fortran_read_section(arrays[i], names[i], is_places ? NULL : all->how->dtype, *sections[i]);
    if (code == LACUNA_OK && is_places && (*sections[i])->dtype != LACUNA_I32) {
      code = lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "%s must be integers of 32 bits", names[i]);
    }
  }
  return code;
}

/* A list has a place for each entry of its values. */
static lacuna_status check_places(const performance* all, const lacuna_fortran_section* places,
                                  const lacuna_fortran_section* values, const char* name, const lacuna_method* method) {
  size_t elements = 0;
  if (!places) return LACUNA_OK;
  if (!all->given->lists.length) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "length= is missing: how many elements lists speak of");
  }
  if (*all->given->lists.length < 0) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "length is %lld, must be 0 or more",
                                 (long long)*all->given->lists.length);
  }
  if (!values) return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "a call with %s is never in place", name);
  if (!method) return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "a call with %s needs method=", name);
  const lacuna_status code = lacuna_entry_length(method, &elements);
  if (code != LACUNA_OK || elements == 0) return code; /* the call says that its method takes no entries */
  if (places->count * elements == values->count) return LACUNA_OK;
  return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT,
                               "%s has %zu elements, must have %zu: one for each entry of %zu of %zu values", name,
                               places->count, values->count / elements, elements, values->count);
}

/* Describes one side's list to the C interface; null if the side is none. */
static const lacuna_entries* describe_list(const performance* all, int side, lacuna_entries* entries) {
  const lacuna_fortran_lists* lists = &all->given->lists;
  if (!all->places[side]) return NULL;
  entries->places = lacuna_fortran_buffer(all->places[side]).data;
  entries->length = (size_t)*lists->length;
  entries->found = side == 1 ? lists->found : NULL;
  return entries;
}

/* Reads the tables of one side into the memory of the request. */
static lacuna_status read_tables(performance* all, int side, const lacuna_fortran_tables* given) {
  const bool has = side == 0 ? all->reads : all->writes;
  const int32_t holds = side == 0 ? all->row.input : all->row.output;
  if (!has || holds != LACUNA_HOLDS_BLOCKS || all->row.lengths == LACUNA_LENGTHS_EQUAL) return LACUNA_OK;
  if (!given->counts) return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "counts are missing");
  all->counts[side] = all->made->tables + 2 * all->size * (size_t)side;
  lacuna_status code = lacuna_fortran_read_sizes(given->counts, "counts", all->size, "ranks", all->counts[side]);
  if (code != LACUNA_OK || !given->offsets) return code;
  all->offsets[side] = all->counts[side] + all->size;
  return lacuna_fortran_read_sizes(given->offsets, "offsets", all->size, "ranks", all->offsets[side]);
}

static lacuna_status read_all_tables(performance* all) {
  if (all->row.lengths == LACUNA_LENGTHS_EQUAL) return LACUNA_OK;
  all->made->tables = malloc(4 * all->size * sizeof *all->made->tables);
  if (!all->made->tables) return lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  lacuna_status code = read_tables(all, 0, &all->given->input_tables);
  return code == LACUNA_OK ? read_tables(all, 1, &all->given->output_tables) : code;
}

/* Cuts this rank's block out of a buffer with a block for each rank. */
static lacuna_status cut_block(const performance* all, int side, lacuna_buffer* buffer) {
  const lacuna_fortran_section* section = all->output;
  const size_t *counts = all->counts[side], *offsets = all->offsets[side];
  size_t count, offset = 0;
  if (counts) {
    count = counts[all->rank];
    for (size_t i = 0; i < all->rank && !offsets; ++i) offset += counts[i];
    if (offsets) offset = offsets[all->rank];
  } else {
    if (buffer->count % all->size != 0) {
      return lacuna_fortran_refuse(
          LACUNA_INVALID_ARGUMENT,
          "an array of %zu elements does not have a block of equal length for each of %zu ranks", buffer->count,
          all->size);
    }
    count = buffer->count / all->size;
    offset = all->rank * count;
  }
  if (offset > buffer->count || count > buffer->count - offset) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "the blocks end beyond the array, which has %zu elements",
                                 buffer->count);
  }
  if (buffer->data) buffer->data = (char*)buffer->data + offset * section->element;
  buffer->count = count;
  return LACUNA_OK;
}

/* Describes both buffers, once the sections have their copies. */
static lacuna_status describe_buffers(const performance* all, lacuna_buffer* input, lacuna_buffer* output) {
  if (all->input) *input = lacuna_fortran_buffer(all->input);
  if (all->output) *output = lacuna_fortran_buffer(all->output);
  if (!all->reads || !all->writes || all->input) return LACUNA_OK;
  *input = *output;
  if (all->row.input == all->row.output) return LACUNA_OK;
  return all->row.output == LACUNA_HOLDS_BLOCKS ? cut_block(all, 1, input) : cut_block(all, 0, output);
}

static lacuna_status start(void* context, const lacuna_options* options, lacuna_request** request) {
  const performance* all = context;
  const lacuna_fortran_collective* given = all->given;
  lacuna_buffer input = LACUNA_BUFFER_INIT, output = LACUNA_BUFFER_INIT;
  lacuna_blocks input_blocks = LACUNA_BLOCKS_INIT, output_blocks = LACUNA_BLOCKS_INIT;
  lacuna_entries input_entries = LACUNA_ENTRIES_INIT, output_entries = LACUNA_ENTRIES_INIT;
  lacuna_own_reduction own = LACUNA_OWN_REDUCTION_INIT;
  lacuna_call call = LACUNA_CALL_INIT;
  const lacuna_status code = describe_buffers(all, &input, &output);
  if (code != LACUNA_OK) return code;
  input_blocks.counts = all->counts[0];
  input_blocks.offsets = all->offsets[0];
  output_blocks.counts = all->counts[1];
  output_blocks.offsets = all->offsets[1];
  output_blocks.received = given->output_tables.received;
  if (given->own) own.function = *given->own;
  if (given->own_id) own.id = *given->own_id;
  call.collective = given->collective;
  call.reduction = given->op ? *given->op : given->own ? LACUNA_OWN : LACUNA_SUM;
  call.root = given->root ? *given->root : 0;
  call.input = &input;
  call.output =
      all->reads && all->writes && input.data == output.data && input.count == output.count ? &input : &output;
  call.input_blocks = &input_blocks;
  call.output_blocks = &output_blocks;
  call.input_entries = describe_list(all, 0, &input_entries);
  call.output_entries = describe_list(all, 1, &output_entries);
  call.own = &own;
  return lacuna_execute(all->communicator, &call, options, request);
}

/* Carries out what has been read, with the options that only collectives have. */
static lacuna_status carry_out(performance* all) {
  const lacuna_fortran_how* how = all->how;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  lacuna_method *method, *made;
  char* algorithm = NULL;
  lacuna_status code = lacuna_fortran_read_method(how->method, &method, &made);
  if (code == LACUNA_OK) code = lacuna_fortran_read_text(how->algorithm, "algorithm", &algorithm);
  if (code == LACUNA_OK) code = check_places(all, all->places[0], all->input, "places", method);
  if (code == LACUNA_OK) code = check_places(all, all->places[1], all->output, "output_places", method);
  options.method = method;
  options.algorithm = algorithm;
  if (how->state) options.state = *how->state;
  options.sampler = how->sampler;
  if (code == LACUNA_OK) {
    code = lacuna_fortran_carry_out(all->made, how, &options, start, all);
  } else {
    lacuna_fortran_discard(all->made);
  }
  lacuna_method_free(made);
  free(algorithm);
  return code;
}

static lacuna_status perform(performance* all) {
  if (!all->communicator) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "the communicator has not joined a job, or has been freed");
  }
  all->size = (size_t)lacuna_size(all->communicator);
  all->rank = (size_t)lacuna_rank(all->communicator);
  lacuna_status code = find_row(all);
  if (code == LACUNA_OK) code = read_sides(all);
  if (code == LACUNA_OK) code = read_sections(all);
  if (code == LACUNA_OK) code = read_all_tables(all);
  if (code == LACUNA_OK) return carry_out(all);
  lacuna_fortran_discard(all->made);
  return code;
}

void lacuna_fortran_perform(lacuna_communicator* const* communicator, const lacuna_fortran_collective* call,
                            const lacuna_fortran_how* how) {
  performance all = {.communicator = *communicator, .given = call, .how = how};
  lacuna_fortran_end(perform(&all), how->procedure, how->status, how->errmsg);
}
