/* The calls of a step of lacuna.torch.Hook, made in C: same_calls STEPS [COUNT METHOD]...
 * Each call averages COUNT elements of f32 by METHOD, such as topk:density=0.01, or "dense". A step starts all of them
 * and waits for them. Rank 0 prints the seconds of a step, the least of five rounds. */
#include <lacuna/lacuna.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct tensor {
  float* data;
  lacuna_buffer buffer;
  lacuna_call call;
  lacuna_options options;
  lacuna_request* request;
} tensor;

static void check(lacuna_status status) {
  if (status == LACUNA_OK) return;
  fprintf(stderr, "%s: %s\n", lacuna_status_text(status), lacuna_last_error());
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Nearly normal, as the gradients of the hook's bucket are. */
static float sample(void) {
  float sum = -6;
  for (int i = 0; i < 12; ++i) sum += (float)rand() / (float)RAND_MAX;
  return sum;
}

static void prepare(tensor* one, size_t count, char* method) {
  const lacuna_buffer buffer = LACUNA_BUFFER_INIT;
  const lacuna_call call = LACUNA_CALL_INIT;
  const lacuna_options options = LACUNA_OPTIONS_INIT;
  one->data = malloc(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) one->data[i] = sample();
  one->buffer = buffer;
  one->buffer.data = one->data;
  one->buffer.count = count;
  one->call = call;
  one->call.collective = LACUNA_ALLREDUCE;
  one->call.reduction = LACUNA_AVG;
  one->call.input = one->call.output = &one->buffer;
  one->options = options;
  if (strcmp(method, "dense") == 0) return;
  char* text = strchr(method, ':');
  if (text) *text++ = '\0';
  lacuna_method* made;
  check(lacuna_method_create(method, text, &made));
  one->options.method = made;
  check(lacuna_state_create(made, 0, 0, &one->options.state));
}

static void step(lacuna_communicator* world, tensor* all, size_t count) {
  for (size_t i = 0; i < count; ++i) check(lacuna_execute(world, &all[i].call, &all[i].options, &all[i].request));
  for (size_t i = 0; i < count; ++i) {
    check(lacuna_wait(all[i].request, -1));
    lacuna_request_free(all[i].request);
  }
}

int main(int argc, char** argv) {
  const int steps = atoi(argv[1]);
  const size_t count = (size_t)(argc - 2) / 2;
  tensor* all = calloc(count, sizeof *all);
  lacuna_communicator* world;
  double best = 1e9;
  check(lacuna_join(NULL, &world));
  srand((unsigned)lacuna_rank(world) + 1);
  for (size_t i = 0; i < count; ++i) prepare(&all[i], strtoull(argv[2 + 2 * i], NULL, 10), argv[3 + 2 * i]);
  step(world, all, count);
  for (int round = 0; round < 5; ++round) {
    check(lacuna_barrier(world));
    const double begin = now();
    for (int i = 0; i < steps; ++i) step(world, all, count);
    const double seconds = (now() - begin) / steps;
    if (seconds < best) best = seconds;
  }
  if (lacuna_rank(world) == 0) printf("SECONDS %.9f\n", best);
  lacuna_communicator_free(world);
  return 0;
}
