/*
 * Calls that leave contributions out. Rank r contributes 2^r to each element, so that the bits of a sum name its ranks.
 */
#include <stdlib.h>

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

/* The result of an allreduce of `given` on each rank. */
static void reduce(lacuna_communicator* communicator, float given, float* result, lacuna_reduction reduction,
                   const lacuna_options* options, const char* what) {
  float input[elements];
  for (int i = 0; i < elements; ++i) input[i] = given;
  const lacuna_buffer in = buffer_of(input, elements), out = buffer_of(result, elements);
  expect_status(lacuna_allreduce(communicator, &in, &out, reduction, options, NULL), LACUNA_OK, what);
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
  lacuna_skip skip = LACUNA_SKIP_INIT;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  reduce(communicator, mine, sum, LACUNA_SUM, &options, "without a skip");
  expect(all_have(sum, elements, ranks), "nothing is left out");
  options.skip = &skip;
  reduce(communicator, mine, sum, LACUNA_SUM, &options, "a skip of defaults");
  expect(all_have(sum, elements, ranks), "the defaults leave nothing out");
  skip.ratio = 0.5;
  reduce(communicator, mine, sum, LACUNA_SUM, &options, "a ratio");
  expect(all_have(sum, elements, ranks - ranks / 2), "at most half is left out");
  skip.ratio = 1;
  reduce(communicator, mine, sum, LACUNA_SUM, &options, "all of it");
  expect(all_have(sum, elements, 1), "the owner stays");
  options.skip_steps = ranks - 1;
  skip.ratio = 0;
  options.algorithm = "skip_ring";
  skip.scale = LACUNA_SKIP_RENORMALISED;
  reduce(communicator, 1, sum, LACUNA_SUM, &options, "a renormalised sum");
  expect(all_are(sum, elements, (float)ranks), "equal terms add up to what a dense sum has");
  skip.scale = LACUNA_SKIP_FACTOR;
  skip.factor = 3;
  reduce(communicator, 1, sum, LACUNA_AVG, &options, "a mean with a factor");
  expect(all_are(sum, elements, ranks > 1 ? 3 : 1), "the sum of the others times the factor, if any are missing");
  skip.scale = LACUNA_SKIP_ZERO_FILL;
  reduce(communicator, 4 * (float)ranks, sum, LACUNA_AVG, &options, "a mean of zeros");
  expect(all_are(sum, elements, 4), "avg divides by all ranks");
}

static void by_run(lacuna_communicator* communicator) {
  const int ranks = lacuna_size(communicator);
  const lacuna_skip_stage stages[] = {{2, ranks - 1}, {3, 0}};
  const int there[] = {ranks, ranks - ranks / 2, 1, ranks};
  float sum[elements];
  lacuna_skip_state* state = NULL;
  lacuna_skip_state_values values = LACUNA_SKIP_STATE_VALUES_INIT;
  expect_status(lacuna_skip_state_create(5, 6, &state), LACUNA_OK, "a state");
  lacuna_skip skip = LACUNA_SKIP_INIT;
  skip.warm_up = 1;
  skip.schedule = stages;
  skip.stages = 2;
  skip.state = state;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  options.skip_steps = ranks / 2;
  options.skip_mode = LACUNA_SKIP_SHUFFLED;
  options.skip = &skip;
  for (int run = 0; run < 4; ++run) {
    reduce(communicator, (float)(1u << lacuna_rank(communicator)), sum, LACUNA_SUM, &options, "a run of a schedule");
    expect(all_have(sum, elements, there[run]), "each run skips what the schedule says");
  }
  expect_status(lacuna_get_skip_state(state, &values), LACUNA_OK, "the values of a state");
  expect(values.runs == 4, "a state counts its runs");
  expect(values.sampler.seed == 5 && values.sampler.key == 6 && values.sampler.draw == (ranks > 1 ? 2u : 0u),
         "a run that skips draws from it once");
  expect(values.residual == NULL && values.residual_bytes == 0, "without feedback nothing is kept");
  lacuna_skip_state_free(state);
}

static lacuna_request* started(lacuna_status status, lacuna_request* request, const char* what) {
  expect_status(status, LACUNA_OK, what);
  expect_status(lacuna_wait(request, -1), LACUNA_OK, what);
  return request;
}

static int near_to(double value, double expected) { return value > expected - 1e-6 && value < expected + 1e-6; }

/* What a call says of itself: its report, and its audit. */
static void tells(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float ones[elements], sum[elements];
  lacuna_skip_state* state = NULL;
  expect_status(lacuna_skip_state_create(1, 1, &state), LACUNA_OK, "a state");
  lacuna_skip skip = LACUNA_SKIP_INIT;
  skip.state = state;
  skip.audit = 1;
  skip.audit_samples = 10;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  options.skip_steps = ranks - 1;
  options.skip = &skip;
  for (int i = 0; i < elements; ++i) ones[i] = 1;
  const lacuna_buffer in = buffer_of(ones, elements), out = buffer_of(sum, elements);
  lacuna_request* request = NULL;
  const lacuna_status status = lacuna_allreduce(communicator, &in, &out, LACUNA_SUM, &options, &request);
  started(status, request, "a call that is audited");
  lacuna_skip_report report = LACUNA_SKIP_REPORT_INIT;
  expect_status(lacuna_get_skip_report(request, &report), LACUNA_OK, "a report");
  expect(report.steps == ranks - 1, "a report says S");
  expect(report.contributions * (uint64_t)ranks == report.dense_contributions, "one rank in all contributes");
  expect(report.dense_contributions == (ranks > 1 ? (uint64_t)(elements * ranks) : 0), "a dense call has all terms");
  lacuna_skip_state_values values = LACUNA_SKIP_STATE_VALUES_INIT;
  expect_status(lacuna_get_skip_state(state, &values), LACUNA_OK, "the values of a state");
  expect(values.audit_run == (ranks > 1 ? 1u : 0u), "a call that skips was audited");
  expect(near_to(values.audit_error, (double)(ranks - 1) / ranks), "its error");
  expect(ranks == 1 || near_to(values.audit_cosine, 1), "all is smaller alike");
  expect_status(lacuna_get_skip_report(NULL, &report), LACUNA_INVALID_ARGUMENT, "no request");
  lacuna_request_free(request);
  lacuna_skip_state_free(state);
}

/* Is there a gap of `from` at this element of the output of `rank`? */
static int is_missing(const lacuna_request* request, int32_t rank, int32_t from, size_t element) {
  lacuna_skip_gap gaps[64];
  size_t count = 0;
  expect_status(lacuna_skip_mask(request, rank, gaps, 64, &count), LACUNA_OK, "a mask");
  for (size_t i = 0; i < count; ++i) {
    if (gaps[i].from == from && element >= gaps[i].offset && element < gaps[i].offset + gaps[i].count) return 1;
  }
  return 0;
}

/* Each rank has its own piece only, and the mask tells which it is. */
static void gathers_less(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator), me = lacuna_rank(communicator);
  float ones[elements], sum[elements];
  lacuna_skip skip = LACUNA_SKIP_INIT;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  options.skip = &skip;
  skip.gather_steps = ranks - 1;
  const lacuna_buffer in = buffer_of(ones, elements), out = buffer_of(sum, elements);
  expect_error(lacuna_allreduce(communicator, &in, &out, LACUNA_SUM, &options, NULL),
               ranks > 1 ? LACUNA_INVALID_ARGUMENT : LACUNA_OK, ranks > 1 ? "incomplete" : "",
               "results that differ must be asked for");
  skip.incomplete = 1;
  lacuna_request* request = NULL;
  for (int i = 0; i < elements; ++i) ones[i] = 1;
  for (int i = 0; i < elements; ++i) sum[i] = 7;
  const lacuna_status status = lacuna_allreduce(communicator, &in, &out, LACUNA_SUM, &options, &request);
  started(status, request, "gather_steps");
  int right = 1, lacking = 0;
  for (size_t i = 0; i < elements; ++i) {
    const int lacks = is_missing(request, me, me, i);
    lacking += lacks;
    right = right && (int)sum[i] == (lacks ? 0 : ranks);
  }
  expect(right, "what is lacking becomes zeros");
  expect(lacking == elements - elements / ranks, "each rank has its own piece");
  lacuna_request_free(request);
}

/*
 * A step of sharded data parallelism: weights are gathered from their owners, without some; the gradients of those that
 * a rank lacked are not reduced. Equal samplers make the two fit.
 */
static void sharded(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator), me = lacuna_rank(communicator);
  const size_t all = (size_t)ranks * elements;
  float shard[elements], sums[elements];
  float* weights = malloc(all * sizeof *weights);
  float* gradients = malloc(all * sizeof *gradients);
  lacuna_skip skip = LACUNA_SKIP_INIT;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.skip_steps = ranks / 2;
  options.skip_mode = LACUNA_SKIP_SHUFFLED;
  options.skip = &skip;
  for (uint64_t step = 0; step < 10; ++step) {
    lacuna_sampler sampler = {11, 12, step};
    lacuna_request* request = NULL;
    const lacuna_buffer own = buffer_of(shard, elements), whole = buffer_of(weights, all);
    for (size_t i = 0; i < elements; ++i) shard[i] = (float)(me + 1);
    for (size_t i = 0; i < all; ++i) weights[i] = -1;
    for (size_t i = 0; i < all; ++i) gradients[i] = (float)(1u << me);
    options.sampler = &sampler;
    skip.incomplete = skip.keep = 1;
    skip.reversed = 0;
    lacuna_status status = lacuna_allgather(communicator, &own, &whole, &options, &request);
    lacuna_request* gathered = started(status, request, "an allgather that skips");
    const lacuna_buffer in = buffer_of(gradients, all), out = buffer_of(sums, elements);
    sampler.draw = step;
    skip.incomplete = skip.keep = 0;
    skip.reversed = 1;
    status = lacuna_reduce_scatter(communicator, &in, &out, LACUNA_SUM, &options, &request);
    lacuna_request* reduced = started(status, request, "a reduce_scatter that skips");
    int lacking = 0;
    for (int32_t other = 0; other < ranks; ++other) {
      const int lacks = is_missing(gathered, me, other, (size_t)other * elements + 3);
      lacking += lacks;
      expect(all_are(weights + other * elements, elements, lacks ? -1 : (float)(other + 1)),
             "what a rank lacks of the weights stays as it was");
      expect(lacks == is_missing(reduced, other, me, 3), "it does not contribute to their gradients");
      expect(has_rank(sums[3], other) != is_missing(reduced, me, other, 3), "the mask is that of the gradients");
      expect(is_missing(gathered, other, me, (size_t)me * elements) == !has_rank(sums[0], other),
             "who lacks this rank's weights does not contribute to it");
    }
    expect(lacking == ranks / 2 && !is_missing(gathered, me, me, 0), "S blocks are lacking, never the own one");
    lacuna_request_free(gathered);
    lacuna_request_free(reduced);
  }
  free(weights);
  free(gradients);
}

static void masks(lacuna_communicator* communicator) {
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  const int32_t ranks = lacuna_size(communicator);
  float data[elements] = {0};
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_request* request = NULL;
  lacuna_skip_gap gap = {1, 2, 3};
  size_t count = 77;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  options.skip_steps = ranks - 1;
  options.prepare = 1;
  expect_status(lacuna_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, &request), LACUNA_OK, "prepare");
  expect_error(lacuna_skip_mask(request, 0, &gap, 1, &count), bad, "has not been started", "a mask of no call");
  expect_status(lacuna_start(request), LACUNA_OK, "start");
  expect_status(lacuna_wait(request, -1), LACUNA_OK, "wait");
  expect_error(lacuna_skip_mask(request, ranks, &gap, 1, &count), bad, "rank is", "a mask of nobody");
  expect_error(lacuna_skip_mask(request, 0, NULL, 1, &count), bad, "gaps is null", "a mask without a place");
  expect_error(lacuna_skip_mask(request, 0, &gap, 1, NULL), bad, "count is null", "a mask without a count");
  expect_error(lacuna_skip_mask(NULL, 0, &gap, 1, &count), bad, "request is null", "a mask of nothing");
  expect(count == 77, "a refused mask counts nothing");
  expect_status(lacuna_skip_mask(request, 0, NULL, 0, &count), ranks > 1 ? bad : LACUNA_OK, "a mask's length");
  expect(ranks == 1 ? count == 0 : count >= (size_t)ranks, "all ranks are missing somewhere"); /* but in their piece */
  expect(gap.offset == 1 && gap.count == 2 && gap.from == 3, "and nothing was written");
  lacuna_request_free(request);
  expect_status(lacuna_allreduce(communicator, &buffer, &buffer, LACUNA_MAX, NULL, &request), LACUNA_OK, "allreduce");
  expect_status(lacuna_skip_mask(request, 0, NULL, 0, &count), LACUNA_OK, "the mask of a dense call");
  expect(count == 0, "lacks nothing");
  lacuna_request_free(request);
  const int32_t me = lacuna_rank(communicator);
  expect_status(lacuna_send(communicator, &buffer, me, 9, NULL, &request), LACUNA_OK, "send");
  expect_error(lacuna_skip_mask(request, 0, NULL, 0, &count), bad, "only of a collective", "the mask of a message");
  expect_status(lacuna_receive(communicator, &buffer, me, 9, NULL, NULL, NULL), LACUNA_OK, "receive");
  lacuna_request_free(request);
}

void skipping_options(lacuna_communicator* communicator) {
  how_much(communicator);
  tells(communicator);
  by_run(communicator);
  gathers_less(communicator);
  sharded(communicator);
  masks(communicator);
}
