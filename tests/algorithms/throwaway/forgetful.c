/* Uses the throw-away method through the C interface by its name and text alone, on two ranks or more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/lacuna.h"

enum { elements = 12, room = 4096 };

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "FAILED: %s (last error: %s)\n", what, lacuna_last_error());
  exit(1);
}

static void expect_refused(lacuna_status got, const char* part) {
  expect(got == LACUNA_INVALID_ARGUMENT && strstr(lacuna_last_error(), part) != NULL, part);
}

/* Makes one call, whose input is 2^rank everywhere. Returns its request. */
static lacuna_request* add_up(lacuna_communicator* communicator, const lacuna_method* method, lacuna_state* state,
                              float* sums) {
  for (int i = 0; i < elements; ++i) sums[i] = (float)(1 << lacuna_rank(communicator));
  lacuna_buffer buffer = LACUNA_BUFFER_INIT;
  buffer.data = sums;
  buffer.count = elements;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.method = method;
  options.state = state;
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_ALLREDUCE;
  call.input = call.output = &buffer;
  lacuna_request* request = NULL;
  expect(lacuna_execute(communicator, &call, &options, &request) == LACUNA_OK, "start");
  expect(lacuna_wait(request, -1) == LACUNA_OK, "the call's end");
  return request;
}

/* Returns the rank whose term a round left out of the ring leaves out: for each rank's piece, the next rank. */
static int left_out(int element, int ranks) { return (element * ranks / elements + 1) % ranks; }

static void sums_lack_a_term(const float* sums, int ranks) {
  for (int i = 0; i < elements; ++i) {
    expect((int)sums[i] == (1 << ranks) - 1 - (1 << left_out(i, ranks)), "all but one rank's term");
  }
}

static void report_has_measures(const lacuna_request* request, int ranks) {
  lacuna_report report = LACUNA_REPORT_INIT;
  expect(lacuna_get_report(request, &report) == LACUNA_OK, "a report");
  expect(report.dense_rounds == 2 * (ranks - 1) && report.rounds == report.dense_rounds - 1, "its rounds");
  expect(report.contributions == (uint64_t)(elements * (ranks - 1)), "its contributions");
  double rounds = 0;
  expect(lacuna_get_report_measure(request, "rounds", &rounds) == LACUNA_OK && (int)rounds == 1, "a measure by name");
  expect_refused(lacuna_get_report_measure(request, "steps", &rounds), "there are: rounds");
}

/* Checks the residual after that many runs. */
static void state_remembers(const lacuna_state* state, int runs, int rank, int ranks) {
  lacuna_state_values values = LACUNA_STATE_VALUES_INIT;
  lacuna_state_array array = LACUNA_STATE_ARRAY_INIT;
  expect(lacuna_get_state(state, &values) == LACUNA_OK && (int)values.runs == runs && values.arrays == 1, "the state");
  expect(lacuna_get_state_array(state, 0, &array) == LACUNA_OK && strcmp(array.name, "residual") == 0, "its array");
  expect(array.own == 1 && array.count == elements && array.dtype == LACUNA_F32, "like the input");
  const float* residual = array.data;
  for (int i = 0; i < elements; ++i) {
    expect((int)residual[i] == (left_out(i, ranks) == rank ? runs << rank : 0), "what was left out");
  }
}

static int is(const lacuna_request* request, const char* measure, double expected) {
  double value = -1;
  expect(lacuna_get_report_measure(request, measure, &value) == LACUNA_OK, measure);
  return value > expected - 1e-9 && value < expected + 1e-9;
}

static void counters_say(const lacuna_communicator* communicator, int32_t format, const char* part) {
  char text[32 * room];
  size_t length = 0;
  expect(lacuna_counters_text(communicator, format, text, sizeof text, &length) == LACUNA_OK, "the counters");
  expect(strstr(text, part) != NULL, part);
}

/* Makes two calls that send elements with their places. The first one sends all of them at once. The second one sends
 * none, because none is as large as a million or, in a part that follows, as a quarter of that. */
static void measures_add_up(lacuna_communicator* communicator) {
  const char* options[] = {"threshold=1", "threshold=1e6"};
  for (int i = 0; i < 2; ++i) {
    lacuna_method* method = NULL;
    lacuna_state* state = NULL;
    float sums[elements];
    expect(lacuna_method_create("forgetful", options[i], &method) == LACUNA_OK, options[i]);
    expect(lacuna_state_create(method, 0, 0, &state) == LACUNA_OK, "a state");
    lacuna_request* request = add_up(communicator, method, state, sums);
    expect(is(request, "entries", i == 0 ? elements : 0), "a sum");
    expect(is(request, "most", i == 0 ? elements : 0), "a largest value");
    expect(is(request, "magnitude", i == 0 ? 1 : 250000), "a last value");
    expect(is(request, "share", i == 0 ? 1 : 0), "a mean");
    lacuna_request_free(request);
    lacuna_state_free(state);
    lacuna_method_free(method);
  }
  const int32_t json = LACUNA_JSON, prometheus = LACUNA_PROMETHEUS;
  counters_say(communicator, json,
               "\"entries\": {\"value\": 12, \"unit\": \"entries\", \"adds_up\": \"sum\", \"calls\": 2}");
  counters_say(communicator, json,
               "\"most\": {\"value\": 12, \"unit\": \"entries\", \"adds_up\": \"largest\", \"calls\": 2}");
  counters_say(communicator, json,
               "\"magnitude\": {\"value\": 250000, \"unit\": \"magnitude\", \"adds_up\": \"last\", ");
  counters_say(communicator, json,
               "\"share\": {\"value\": 0.5, \"unit\": \"ratio\", \"adds_up\": \"mean\", \"calls\": 2}");
  counters_say(communicator, prometheus, "measure=\"entries\",unit=\"entries\",adds_up=\"sum\"} 12\n");
  counters_say(communicator, prometheus, "measure=\"most\",unit=\"entries\",adds_up=\"largest\"} 12\n");
  counters_say(communicator, prometheus, "measure=\"magnitude\",unit=\"magnitude\",adds_up=\"last\"} 250000\n");
  counters_say(communicator, prometheus, "measure=\"share\",unit=\"ratio\",adds_up=\"mean\"} 0.5\n");
}

int main(void) {
  lacuna_communicator* communicator = NULL;
  expect(lacuna_join(NULL, &communicator) == LACUNA_OK, "join");
  const int ranks = lacuna_size(communicator), rank = lacuna_rank(communicator);
  lacuna_method* method = NULL;
  expect_refused(lacuna_method_create("forgetful", "round=1", &method), "did you mean rounds?");
  expect_refused(lacuna_method_create("forgetful", "rounds=65", &method), "must be 0 .. 64");
  expect(lacuna_method_create("forgetful", "rounds=1,remembers=1,recalls=3", &method) == LACUNA_OK, "a method");

  lacuna_state *state = NULL, *restored = NULL;
  expect(lacuna_state_create(method, 0, 0, &state) == LACUNA_OK, "a state");
  float sums[elements];
  lacuna_request* request = add_up(communicator, method, state, sums);
  sums_lack_a_term(sums, ranks);
  report_has_measures(request, ranks);
  lacuna_request_free(request);
  state_remembers(state, 1, rank, ranks);

  /* A restored state continues like the saved one: the third run adds what the first two have left out. */
  unsigned char bytes[room];
  size_t length = 0;
  expect(lacuna_state_save(state, bytes, room, &length) == LACUNA_OK, "save");
  expect(lacuna_state_create(method, 0, 0, &restored) == LACUNA_OK, "another state");
  expect(lacuna_state_restore(restored, bytes, length) == LACUNA_OK, "restore");
  lacuna_state* both[] = {state, restored};
  for (int i = 0; i < 2; ++i) {
    lacuna_request_free(add_up(communicator, method, both[i], sums));
    sums_lack_a_term(sums, ranks);
    state_remembers(both[i], 2, rank, ranks);
    lacuna_request_free(add_up(communicator, method, both[i], sums));
    for (int j = 0; j < elements; ++j) {
      expect((int)sums[j] == (1 << ranks) - 1 + (2 << left_out(j, ranks)), "what was left out is added");
    }
    lacuna_state_free(both[i]);
  }
  lacuna_method_free(method);
  measures_add_up(communicator);
  lacuna_communicator_free(communicator);
  return 0;
}
