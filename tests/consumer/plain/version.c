#include <lacuna.h>
#include <stdio.h>

int main(void) {
  lacuna_skip_state* state = NULL;
  if (lacuna_skip_state_create(1, 2, &state) != LACUNA_OK) return 1;
  lacuna_skip_state_free(state);
  puts(lacuna_version());
  return 0;
}
