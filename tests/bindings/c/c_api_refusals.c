/* What the C interface refuses, and in which words. */
#include <math.h>
#include <stddef.h>

#include "tests/bindings/c/c_api_test.h"

void join_refuses(void) {
  lacuna_communicator* communicator = NULL;
  lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
  expect_error(lacuna_join(NULL, NULL), LACUNA_INVALID_ARGUMENT, "communicator is null", "join without a place");
  options.rank = 3;
  options.world_size = 3;
  expect_error(lacuna_join(&options, &communicator), LACUNA_INVALID_ARGUMENT, "rank 3 of 3", "join as a rank too many");
  options.rank = -1;
  options.world_size = -1;
  options.progress = 2;
  expect_error(lacuna_join(&options, &communicator), LACUNA_INVALID_ARGUMENT, "progress is 2", "an unknown progress");
  options.progress = -7;
  expect_error(lacuna_join(&options, &communicator), LACUNA_INVALID_ARGUMENT, "progress is -7", "a negative progress");
  options.progress = -1;
  options.rank = options.world_size = -2;
  expect_error(lacuna_join(&options, &communicator), LACUNA_INVALID_ARGUMENT, "rank is -2", "a negative rank");
  options.rank = options.world_size = -1;
  options.struct_size = sizeof options + 8;
  expect_error(lacuna_join(&options, &communicator), LACUNA_INVALID_ARGUMENT, "struct_size", "a structure too large");
  options.struct_size = 0;
  expect_error(lacuna_join(&options, &communicator), LACUNA_INVALID_ARGUMENT, "struct_size is 0, must be 8 .. ",
               "a structure without size");
  expect(communicator == NULL, "a failed join gives no handle");
}

static void method_refused(const char* name, const char* options, const char* part) {
  lacuna_method* method = NULL;
  expect_error(lacuna_method_create(name, options, &method), LACUNA_INVALID_ARGUMENT, part, part);
  expect(method == NULL, "a refused method gives no handle");
}

void methods_refused(void) {
  lacuna_method* method = NULL;
  expect_error(lacuna_method_create("skip", NULL, NULL), LACUNA_INVALID_ARGUMENT, "method is null", "without a place");
  method_refused(NULL, NULL, "name is null");
  method_refused("", NULL, "no method is called ''; there are: ");
  method_refused("skipp", NULL, "no method is called 'skipp' (did you mean skip?); there are: ");
  method_refused("nonsense", "steps=1", "no method is called 'nonsense'; there are: ");
  method_refused("skip", "stepz=1", "skip has no option 'stepz' (did you mean steps?); it has steps, ratio, mode, ");
  method_refused("skip", "steps", "skip: 'steps' is no option=value");
  method_refused("skip", "steps=1,,ratio=0", "skip: '' is no option=value");
  method_refused("skip", "=1", "skip has no option ''");
  method_refused("skip", "steps=", "steps is empty, must be 0 .. 2147483647");
  method_refused("skip", "steps=1 ", "steps is 1 , must be 0 .. 2147483647");
  method_refused("skip", "steps=-1", "steps is -1, must be 0 .. 2147483647");
  method_refused("skip", "steps=2147483648", "steps is 2147483648, must be 0 .. 2147483647");
  method_refused("skip", "steps=99999999999999999999", "steps is 99999999999999999999, must be");
  method_refused("skip", "steps=1.5", "steps is 1.5, must be 0 .. 2147483647");
  method_refused("skip", "gather_steps=-1", "gather_steps is -1, must be 0 .. ");
  method_refused("skip", "ratio=nan", "ratio is nan, must be 0 .. 1");
  method_refused("skip", "ratio=1.5", "ratio is 1.5, must be 0 .. 1");
  method_refused("skip", "factor=inf", "factor is inf, must be ");
  method_refused("skip", "mode=randon", "mode is randon, must be static, random or shuffled (did you mean random?)");
  method_refused("skip", "scale=3", "scale is 3, must be zero_fill, renormalised or factor");
  method_refused("skip", "feedback=yes", "feedback is yes, must be 0 or 1");
  method_refused("skip", "schedule=3", "schedule is 3, must be RUN:VALUE/RUN:VALUE/... of 0 .. ");
  method_refused("skip", "steps=1,mode=nonsense", "mode is nonsense");
  method_refused("skip", "steps=1,steps=2", "skip: steps is given twice");
  method_refused("topk", "density=0.1,k=3,density=0.1", "topk: density is given twice");
  method_refused("skip", "schedule=5:1/3:2", "schedule is 5:1/3:2, must be RUN:VALUE/RUN:VALUE/...");
  expect_status(lacuna_method_create("skip", "", &method), LACUNA_OK, "an empty text");
  lacuna_method_free(method);
  lacuna_method_free(NULL);
}

void null_arguments(lacuna_communicator* communicator) {
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  float data[4] = {0};
  const lacuna_buffer some = buffer_of(data, 4);
  lacuna_counters counters = LACUNA_COUNTERS_INIT;
  lacuna_request* request = NULL;
  int32_t flag = 0;
  uint64_t token = 0;
  lacuna_status outcome = LACUNA_OK;
  expect_error(execute_allreduce(NULL, &some, &some, LACUNA_SUM, NULL, NULL), bad, "communicator is null", "allreduce");
  expect_error(execute_reduce_scatter(NULL, &some, &some, LACUNA_SUM, NULL, NULL), bad, "communicator",
               "reduce_scatter");
  expect_error(execute_allgather(NULL, &some, &some, NULL, NULL), bad, "communicator", "allgather");
  expect_error(execute_broadcast(NULL, &some, 0, NULL, NULL), bad, "communicator", "broadcast");
  expect_error(lacuna_barrier(NULL), bad, "communicator", "barrier");
  expect_error(lacuna_split(NULL, 0, 0, NULL), bad, "communicator is null", "split of nothing");
  expect_error(lacuna_split(communicator, 0, 0, NULL), bad, "part is null", "split without a place");
  expect_error(lacuna_subgroup(communicator, NULL, 1, NULL), bad, "part is null", "subgroup without a place");
  expect_error(execute_allreduce(communicator, NULL, &some, LACUNA_SUM, NULL, NULL), bad, "input is null", "no input");
  expect_error(execute_allreduce(communicator, &some, NULL, LACUNA_SUM, NULL, NULL), bad, "output is null",
               "no output");
  expect_error(execute_broadcast(communicator, NULL, 0, NULL, NULL), bad, "null", "broadcast of nothing");
  expect_error(lacuna_test(NULL, &flag), bad, "request is null", "test");
  expect_error(lacuna_wait(NULL, 0), bad, "request is null", "wait");
  expect_error(lacuna_reclaimed(NULL, &flag), bad, "request is null", "reclaimed");
  expect_error(lacuna_hold_stream(NULL, NULL), bad, "request is null", "hold_stream");
  expect_error(lacuna_progress(NULL, NULL), bad, "communicator", "progress");
  expect_error(lacuna_arm(communicator, NULL), bad, "armed is null", "arm");
  expect_error(lacuna_arm(NULL, &flag), bad, "communicator", "arm without a communicator");
  expect_error(lacuna_next_completion(communicator, NULL, &token, &outcome), bad, "null", "next completion");
  expect_error(lacuna_next_completion(NULL, &flag, &token, &outcome), bad, "null", "completion of nothing");
  expect_error(lacuna_get_counters(NULL, &counters), bad, "communicator", "counters of nothing");
  expect_error(lacuna_get_counters(communicator, NULL), bad, "counters is null", "counters");
  expect_error(lacuna_communicator_status(NULL), bad, "communicator", "status of nothing");
  expect(lacuna_rank(NULL) == -1 && lacuna_size(NULL) == -1 && lacuna_event_fd(NULL) == -1, "numbers of nothing");
  expect(lacuna_local_rank(NULL) == -1 && lacuna_local_size(NULL) == -1, "local numbers of nothing");
  expect_status(execute_barrier(communicator, NULL, &request), LACUNA_OK, "barrier's request");
  expect_error(lacuna_test(request, NULL), bad, "finished is null", "test without a place");
  expect_error(lacuna_reclaimed(request, NULL), bad, "reclaimed is null", "reclaimed without a place");
  lacuna_request_free(request);
}

void bad_arguments(lacuna_communicator* communicator) {
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  float data[8] = {0};
  lacuna_buffer one = buffer_of(data, 4), other = buffer_of(data + 4, 4);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  one.dtype = LACUNA_BYTES_64 + 1;
  expect_error(execute_allreduce(communicator, &one, &one, LACUNA_SUM, NULL, NULL), bad, "dtype is 25",
               "a wrong dtype");
  one.dtype = -1;
  expect_error(execute_allreduce(communicator, &one, &one, LACUNA_SUM, NULL, NULL), bad, "dtype is -1", "wrong dtype");
  one.dtype = LACUNA_I32;
  expect_error(execute_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), bad,
               "the input is of i32, the output of f32; they must be of one dtype", "two dtypes");
  expect_error(execute_allreduce(communicator, &one, &one, LACUNA_AVG, NULL, NULL), bad, "avg of i32",
               "avg of integers");
  one.dtype = LACUNA_F32;
  expect_error(execute_allreduce(communicator, &one, &one, (lacuna_reduction)6, NULL, NULL), bad, "reduction is 6",
               "a wrong reduction");
  one.memory = 4;
  expect_error(execute_allreduce(communicator, &one, &one, LACUNA_SUM, NULL, NULL), bad, "memory is 4", "wrong memory");
  one.memory = other.memory = LACUNA_MEMORY_CUDA;
  expect_error(execute_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), LACUNA_UNSUPPORTED, "memory",
               "device memory is refused with a reason");
  one.device = 1;
  expect_error(execute_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), bad,
               "the input lies on device 1, ready after stream ", "two devices");
  one.device = 0;
  one.memory = LACUNA_MEMORY_HOST;
  expect_error(execute_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), bad,
               "the input lies in host memory, the output in cuda memory; they must lie in one kind", "two memories");
  other = buffer_of(data + 4, 3);
  expect_error(execute_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), bad, "3", "two counts");
  other = buffer_of(data + 2, 4);
  expect_error(execute_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), bad, "overlap", "overlap");
  other = buffer_of(NULL, 4);
  expect_error(execute_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), bad, "null", "null memory");
  expect_error(execute_broadcast(communicator, &one, lacuna_size(communicator), NULL, NULL), bad, "root is",
               "a bad root");
  expect_error(execute_broadcast(communicator, &one, -1, NULL, NULL), bad, "root is -1", "a negative root");
  options.algorithm = "nonsense";
  expect_error(execute_barrier(communicator, &options, NULL), bad, "there are: dissemination", "an unknown algorithm");
  options.algorithm = NULL;
  set_skip(&options, "steps=1");
  expect_error(execute_barrier(communicator, &options, NULL), bad,
               "barrier dissemination does not serve the method skip", "a barrier with a method");
  set_method(&options, NULL);
  options.priority = 3;
  expect_error(execute_barrier(communicator, &options, NULL), bad, "priority is 3", "an unknown priority");
  options.priority = LACUNA_NORMAL;
  options.deadline = -1;
  expect_error(execute_barrier(communicator, &options, NULL), bad, "deadline is -1 seconds, must be 0 or more",
               "a negative deadline");
  options.deadline = (double)INFINITY;
  expect_status(execute_barrier(communicator, &options, NULL), LACUNA_OK, "a deadline that never comes");
  options.struct_size = sizeof options + 1;
  expect_error(execute_barrier(communicator, &options, NULL), bad, "struct_size", "options from the future");
  expect_status(lacuna_communicator_status(communicator), LACUNA_OK, "errors of arguments poison nothing");
}
