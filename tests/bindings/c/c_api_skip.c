/*
 * Calls that leave contributions out. Rank r contributes 2^r to each element, so that the bits of a sum name its ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/bindings/c/c_api_test.h"

enum { elements = 60 };

static int ranks_in(float value) {
  int number = 0;
  for (unsigned bits = (unsigned)value; bits != 0; bits >>= 1) number += (int)(bits & 1);
  return number;
}

static int has_rank(float value, int32_t rank) { return (int)((unsigned)value >> rank & 1u); }

static int all_are(const float* data, size_t count, float value) {
  for (size_t i = 0; i < count; ++i) {
    if (data[i] < value || data[i] > value) return 0;
  }
  return 1;
}

/* Sets the result of an allreduce of `given` on each rank. */
static void reduce(lacuna_communicator* communicator, float given, float* result, lacuna_reduction reduction,
                   const lacuna_options* options, const char* what) {
  float input[elements];
  for (int i = 0; i < elements; ++i) input[i] = given;
  const lacuna_buffer in = buffer_of(input, elements), out = buffer_of(result, elements);
  expect_status(execute_allreduce(communicator, &in, &out, reduction, options, NULL), LACUNA_OK, what);
}

static int all_have(const float* data, size_t count, int ranks) {
  for (size_t i = 0; i < count; ++i) {
    if (ranks_in(data[i]) != ranks) return 0;
  }
  return 1;
}

static void how_much(lacuna_communicator* communicator) {
  const int ranks = lacuna_size(communicator);
  const float mine = (float)(1u << lacuna_rank(communicator));
  float sum[elements];
  lacuna_options options = LACUNA_OPTIONS_INIT;
  reduce(communicator, mine, sum, LACUNA_SUM, &options, "without a method");
  expect(all_have(sum, elements, ranks), "nothing is left out");
  set_skip(&options, "");
  reduce(communicator, mine, sum, LACUNA_SUM, &options, "a method of defaults");
  expect(all_have(sum, elements, ranks), "the defaults leave nothing out");
  set_skip(&options, "ratio=0.5");
  reduce(communicator, mine, sum, LACUNA_SUM, &options, "a ratio");
  expect(all_have(sum, elements, ranks - ranks / 2), "at most half is left out");
  set_skip(&options, "ratio=1");
  reduce(communicator, mine, sum, LACUNA_SUM, &options, "all of it");
  expect(all_have(sum, elements, 1), "the owner stays");
  options.algorithm = "skip_ring";
  set_skip(&options, "steps=%d,scale=renormalised", ranks - 1);
  reduce(communicator, 1, sum, LACUNA_SUM, &options, "a renormalised sum");
  expect(all_are(sum, elements, (float)ranks), "equal terms add up to what a dense sum has");
  set_skip(&options, "steps=%d,scale=factor,factor=3", ranks - 1);
  reduce(communicator, 1, sum, LACUNA_AVG, &options, "a mean with a factor");
  expect(all_are(sum, elements, ranks > 1 ? 3 : 1), "the sum of the others times the factor, if any are missing");
  set_skip(&options, "steps=%d,scale=zero_fill", ranks - 1);
  reduce(communicator, 4 * (float)ranks, sum, LACUNA_AVG, &options, "a mean of zeros");
  expect(all_are(sum, elements, 4), "avg divides by all ranks");
  options.algorithm = "ring";
  reduce(communicator, mine, sum, LACUNA_SUM, &options, "the ring, by its own name");
  expect(all_have(sum, elements, 1), "serves the method too");
  set_method(&options, NULL);
}

static void by_run(lacuna_communicator* communicator) {
  const int ranks = lacuna_size(communicator);
  const int there[] = {ranks, ranks - ranks / 2, 1, ranks};
  float sum[elements];
  lacuna_state* state = NULL;
  lacuna_state_values values = LACUNA_STATE_VALUES_INIT;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  set_skip(&options, "steps=%d,mode=shuffled,warm_up=1,schedule=2:%d/3:0", ranks / 2, ranks - 1);
  expect_status(lacuna_state_create(options.method, 5, 6, &state), LACUNA_OK, "a state");
  options.state = state;
  for (int run = 0; run < 4; ++run) {
    reduce(communicator, (float)(1u << lacuna_rank(communicator)), sum, LACUNA_SUM, &options, "a run of a schedule");
    expect(all_have(sum, elements, there[run]), "each run skips what the schedule says");
  }
  expect_status(lacuna_get_state(state, &values), LACUNA_OK, "the values of a state");
  expect(values.runs == 4, "a state counts its runs");
  expect(values.sampler.seed == 5 && values.sampler.key == 6 && values.sampler.draw == (ranks > 1 ? 2u : 0u),
         "a run that skips draws from it once");
  expect(values.arrays == 0, "without feedback nothing is kept");
  set_method(&options, NULL);
  lacuna_state_free(state);
}

static lacuna_request* started(lacuna_status status, lacuna_request* request, const char* what) {
  expect_status(status, LACUNA_OK, what);
  expect_status(lacuna_wait(request, -1), LACUNA_OK, what);
  return request;
}

static int near_to(double value, double expected) { return value > expected - 1e-6 && value < expected + 1e-6; }

static double measure_of(const lacuna_request* request, const char* name) {
  double value = -1;
  expect_status(lacuna_get_report_measure(request, name, &value), LACUNA_OK, name);
  return value;
}

/* A call reports about itself: it has a report and an audit. */
static void tells(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float ones[elements], sum[elements];
  lacuna_state* state = NULL;
  expect_status(lacuna_state_create(NULL, 1, 1, &state), LACUNA_OK, "a state");
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  options.state = state;
  set_skip(&options, "steps=%d,audit=1,audit_samples=10", (int)ranks - 1);
  for (int i = 0; i < elements; ++i) ones[i] = 1;
  const lacuna_buffer in = buffer_of(ones, elements), out = buffer_of(sum, elements);
  lacuna_request* request = NULL;
  const lacuna_status status = execute_allreduce(communicator, &in, &out, LACUNA_SUM, &options, &request);
  started(status, request, "a call that is audited");
  const char* algorithm = NULL;
  expect_status(lacuna_get_algorithm(request, &algorithm), LACUNA_OK, "the algorithm");
  expect(strcmp(algorithm, "skip_ring") == 0, "a call tells its algorithm");
  expect_error(lacuna_get_algorithm(NULL, &algorithm), LACUNA_INVALID_ARGUMENT, "request is null", "of no request");
  expect_error(lacuna_get_algorithm(request, NULL), LACUNA_INVALID_ARGUMENT, "name is null", "without a place");
  lacuna_report report = LACUNA_REPORT_INIT;
  expect_status(lacuna_get_report(request, &report), LACUNA_OK, "a report");
  expect(near_to(measure_of(request, "steps"), ranks - 1), "a report says S");
  expect(near_to(measure_of(request, "gather_steps"), 0), "and that of the second half");
  expect(report.dense_rounds - report.rounds == 0, "the sample of an audit takes as many rounds as a dense call");
  expect(report.lacking == 0, "all ranks have the same");
  expect(report.contributions * (uint64_t)ranks == report.dense_contributions, "one rank in all contributes");
  expect(report.dense_contributions == (ranks > 1 ? (uint64_t)(elements * ranks) : 0), "a dense call has all terms");
  const double error = (double)(ranks - 1) / ranks;
  expect(near_to(measure_of(request, "audits"), ranks > 1), "a call that skips was audited");
  expect(near_to(measure_of(request, "audit_error"), error), "its error");
  lacuna_state_array array = LACUNA_STATE_ARRAY_INIT;
  expect(find_array(state, "audit", &array) == (ranks > 1), "the state keeps the audit");
  if (ranks > 1) {
    const double* audit = array.data;
    expect(array.dtype == LACUNA_F64 && array.count == 4 && array.own == 0, "as numbers that are equal on all ranks");
    expect(near_to(audit[0], 1) && near_to(audit[1], 10), "the run, and the samples");
    expect(near_to(audit[2], error) && near_to(audit[3], 1), "the error; all is smaller alike");
  }
  lacuna_request_free(request);
  lacuna_state_free(state);
  set_method(&options, NULL);
}

/* Refuses what is no report, and what is no measure of one. */
static void refused_reports(lacuna_communicator* communicator) {
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  const int32_t ranks = lacuna_size(communicator);
  float data[elements] = {0};
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_request* request = NULL;
  lacuna_report report = LACUNA_REPORT_INIT;
  double value = 77;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  set_skip(&options, "steps=%d", (int)ranks - 1);
  lacuna_status status = execute_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, &request);
  set_method(&options, NULL); /* this is allowed while a call that uses it runs */
  started(status, request, "a call that skips");
  if (ranks > 1) {
    expect_error(lacuna_get_report_measure(request, "step", &value), bad,
                 "reports of skip have no measure 'step'; there are: steps, gather_steps, protected_parts, "
                 "measured_parts, audits, audit_error",
                 "a measure that there is not");
    expect_error(lacuna_get_report_measure(request, "", &value), bad, "no measure ''", "a measure without a name");
  }
  expect_error(lacuna_get_report_measure(request, NULL, &value), bad, "name is null", "no name");
  expect_error(lacuna_get_report_measure(request, "steps", NULL), bad, "value is null", "a measure without a place");
  expect_error(lacuna_get_report_measure(NULL, "steps", &value), bad, "request is null", "a measure of nothing");
  expect(near_to(value, 77), "what is refused stores nothing");
  expect_error(lacuna_get_report(NULL, &report), bad, "request is null", "a report of nothing");
  expect_error(lacuna_get_report(request, NULL), bad, "report is null", "a report without a place");
  report.struct_size += 1;
  expect_error(lacuna_get_report(request, &report), bad, "struct_size", "a report from the future");
  report.struct_size -= 1;
  lacuna_request_free(request);
  status = execute_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, NULL, &request);
  started(status, request, "a dense call");
  report.rounds = 5;
  expect_status(lacuna_get_report(request, &report), LACUNA_OK, "the report of a dense call");
  expect(report.rounds == 0 && report.dense_sent == 0 && report.struct_size == sizeof report, "is of zeros");
  expect(near_to(measure_of(request, "steps"), 0), "and so are its measures");
  lacuna_request_free(request);
}

/* Is there a gap of `from` at this element of the output of `rank`? */
static int is_missing(const lacuna_request* request, int32_t rank, int32_t from, size_t element) {
  lacuna_gap gaps[64];
  size_t count = 0;
  expect_status(lacuna_gaps(request, rank, gaps, 64, &count), LACUNA_OK, "gaps");
  for (size_t i = 0; i < count; ++i) {
    if (gaps[i].from == from && element >= gaps[i].offset && element < gaps[i].offset + gaps[i].count) return 1;
  }
  return 0;
}

/* Each rank has only its own piece, and the gaps tell which it is. */
static void gathers_less(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator), me = lacuna_rank(communicator);
  float ones[elements], sum[elements];
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  set_skip(&options, "gather_steps=%d", (int)ranks - 1);
  const lacuna_buffer in = buffer_of(ones, elements), out = buffer_of(sum, elements);
  expect_error(execute_allreduce(communicator, &in, &out, LACUNA_SUM, &options, NULL),
               ranks > 1 ? LACUNA_INVALID_ARGUMENT : LACUNA_OK, ranks > 1 ? "incomplete" : "",
               "results that differ must be asked for");
  set_skip(&options, "gather_steps=%d,incomplete=1", (int)ranks - 1);
  lacuna_request* request = NULL;
  for (int i = 0; i < elements; ++i) ones[i] = 1;
  for (int i = 0; i < elements; ++i) sum[i] = 7;
  const lacuna_status status = execute_allreduce(communicator, &in, &out, LACUNA_SUM, &options, &request);
  started(status, request, "gather_steps");
  int right = 1, lacking = 0;
  for (size_t i = 0; i < elements; ++i) {
    const int lacks = is_missing(request, me, me, i);
    lacking += lacks;
    right = right && (int)sum[i] == (lacks ? 0 : ranks);
  }
  expect(right, "what is lacking becomes zeros");
  expect(lacking == elements - elements / ranks, "each rank has its own piece");
  lacuna_report report = LACUNA_REPORT_INIT;
  expect_status(lacuna_get_report(request, &report), LACUNA_OK, "a report");
  expect(report.lacking == (uint64_t)lacking, "the report counts what is lacking");
  expect(near_to(measure_of(request, "gather_steps"), ranks - 1), "and says S of the second half");
  lacuna_request_free(request);
  set_method(&options, NULL);
}

/*
 * A step of sharded data parallelism. Weights are gathered from their owners, and some are left out. The gradients of
 * the weights that a rank lacked are not reduced. Equal samplers make the two fit.
 */
static void sharded(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator), me = lacuna_rank(communicator);
  const size_t all = (size_t)ranks * elements;
  float shard[elements], sums[elements];
  float* weights = malloc(all * sizeof *weights);
  float* gradients = malloc(all * sizeof *gradients);
  lacuna_options gathering = LACUNA_OPTIONS_INIT, reducing = LACUNA_OPTIONS_INIT;
  set_skip(&gathering, "steps=%d,mode=shuffled,incomplete=1,keep=1", (int)ranks / 2);
  set_skip(&reducing, "steps=%d,mode=shuffled,reversed=1", (int)ranks / 2);
  for (uint64_t step = 0; step < 10; ++step) {
    lacuna_sampler sampler = {11, 12, step};
    lacuna_request* request = NULL;
    const lacuna_buffer own = buffer_of(shard, elements), whole = buffer_of(weights, all);
    for (size_t i = 0; i < elements; ++i) shard[i] = (float)(me + 1);
    for (size_t i = 0; i < all; ++i) weights[i] = -1;
    for (size_t i = 0; i < all; ++i) gradients[i] = (float)(1u << me);
    gathering.sampler = reducing.sampler = &sampler;
    lacuna_status status = execute_allgather(communicator, &own, &whole, &gathering, &request);
    lacuna_request* gathered = started(status, request, "an allgather that skips");
    const lacuna_buffer in = buffer_of(gradients, all), out = buffer_of(sums, elements);
    sampler.draw = step;
    status = execute_reduce_scatter(communicator, &in, &out, LACUNA_SUM, &reducing, &request);
    lacuna_request* reduced = started(status, request, "a reduce_scatter that skips");
    int lacking = 0;
    for (int32_t other = 0; other < ranks; ++other) {
      const int lacks = is_missing(gathered, me, other, (size_t)other * elements + 3);
      lacking += lacks;
      expect(all_are(weights + other * elements, elements, lacks ? -1 : (float)(other + 1)),
             "what a rank lacks of the weights stays as it was");
      expect(lacks == is_missing(reduced, other, me, 3), "it does not contribute to their gradients");
      expect(has_rank(sums[3], other) != is_missing(reduced, me, other, 3), "the gaps are those of the gradients");
      expect(is_missing(gathered, other, me, (size_t)me * elements) == !has_rank(sums[0], other),
             "who lacks this rank's weights does not contribute to it");
    }
    expect(lacking == ranks / 2 && !is_missing(gathered, me, me, 0), "S blocks are lacking, never the own one");
    lacuna_request_free(gathered);
    lacuna_request_free(reduced);
  }
  set_method(&gathering, NULL);
  set_method(&reducing, NULL);
  free(weights);
  free(gradients);
}

static void refused_gaps(lacuna_communicator* communicator) {
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  const int32_t ranks = lacuna_size(communicator);
  float data[elements] = {0};
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_request* request = NULL;
  lacuna_gap gap = {1, 2, 3};
  size_t count = 77;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  set_skip(&options, "steps=%d", (int)ranks - 1);
  options.prepare = 1;
  expect_status(execute_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, &request), LACUNA_OK,
                "prepare");
  set_method(&options, NULL); /* the request holds the method */
  expect_error(lacuna_gaps(request, 0, &gap, 1, &count), bad, "has not been started", "gaps of no call");
  expect_status(lacuna_start(request), LACUNA_OK, "start");
  expect_status(lacuna_wait(request, -1), LACUNA_OK, "wait");
  expect_error(lacuna_gaps(request, ranks, &gap, 1, &count), bad, "rank is", "gaps of nobody");
  expect_error(lacuna_gaps(request, 0, NULL, 1, &count), bad, "gaps is null", "gaps without a place");
  expect_error(lacuna_gaps(request, 0, &gap, 1, NULL), bad, "count is null", "gaps without a count");
  expect_error(lacuna_gaps(NULL, 0, &gap, 1, &count), bad, "request is null", "gaps of nothing");
  expect(count == 77, "what is refused counts nothing");
  expect_status(lacuna_gaps(request, 0, NULL, 0, &count), ranks > 1 ? bad : LACUNA_OK, "the number of gaps");
  expect(ranks == 1 ? count == 0 : count >= (size_t)ranks, "all ranks are missing somewhere"); /* in others' pieces */
  expect(gap.offset == 1 && gap.count == 2 && gap.from == 3, "and nothing was written");
  lacuna_request_free(request);
  expect_status(execute_allreduce(communicator, &buffer, &buffer, LACUNA_MAX, NULL, &request), LACUNA_OK, "allreduce");
  expect_status(lacuna_gaps(request, 0, NULL, 0, &count), LACUNA_OK, "the gaps of a dense call");
  expect(count == 0, "lacks nothing");
  lacuna_request_free(request);
  const int32_t me = lacuna_rank(communicator);
  expect_status(lacuna_send(communicator, &buffer, me, 9, NULL, &request), LACUNA_OK, "send");
  expect_error(lacuna_gaps(request, 0, NULL, 0, &count), bad, "only the request of a collective has gaps",
               "the gaps of a message");
  expect_status(lacuna_receive(communicator, &buffer, me, 9, NULL, NULL, NULL), LACUNA_OK, "receive");
  lacuna_request_free(request);
}

void skipping_options(lacuna_communicator* communicator) {
  how_much(communicator);
  tells(communicator);
  refused_reports(communicator);
  by_run(communicator);
  gathers_less(communicator);
  sharded(communicator);
  refused_gaps(communicator);
}
