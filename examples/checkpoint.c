/*
 * A program that goes on where it was killed: checkpoints of all ranks.
 *   lacuna launch -n 4 -- example_checkpoint_c FOLDER STEPS
 */
#include <lacuna/lacuna_checkpoint.h>
#include <stdio.h>
#include <stdlib.h>

enum { points = 1000 };

/* Ends the program if something has failed. */
static void must(lacuna_status status) {
  if (status == LACUNA_OK) return;
  fprintf(stderr, "%s\n", lacuna_last_error());
  exit(EXIT_FAILURE);
}

int main(int count, char** arguments) {
  if (count != 3) return EXIT_FAILURE;
  const char* folder = arguments[1]; /* it is there */
  const long long steps = atoll(arguments[2]);
  lacuna_communicator* world = NULL;
  must(lacuna_join(NULL, &world));

  static double field[points], mean[points];
  for (int i = 0; i < points; ++i) field[i] = lacuna_rank(world);
  const lacuna_checkpoint_item items[] = {{"field", LACUNA_F64, field, points}};
  int64_t step = -1;
  must(lacuna_checkpoint_restore(world, folder, items, 1, &step));
  if (step < 0) step = 0;
  if (lacuna_rank(world) == 0) printf("begins after step %lld\n", (long long)step);

  while (step < steps) {
    ++step;
    must(lacuna_allreduce(world, field, mean, points, LACUNA_F64, LACUNA_AVG));
    for (int i = 0; i < points; ++i) field[i] += 0.1 * (mean[i] - field[i]) + 1;
    if (step % 10 == 0 || step == steps) must(lacuna_checkpoint_save(world, folder, step, items, 1));
  }
  if (lacuna_rank(world) == 0) printf("field[0] is %.17g\n", field[0]);
  lacuna_communicator_free(world);
  return EXIT_SUCCESS;
}
