#include <lacuna/lacuna.h>
#include <lacuna/lacuna_skip.h>
#include <stdio.h>

int main(void) {
  const lacuna_skip_segment segment = {0, 3, LACUNA_POLICY_NEVER};
  lacuna_method *plain = NULL, *segmented = NULL;
  lacuna_state* state = NULL;
  if (lacuna_method_create("skip", "steps=1,mode=random", &plain) != LACUNA_OK) return 1;
  if (lacuna_skip_create("steps=1", &segment, 1, &segmented) != LACUNA_OK) return 1;
  if (lacuna_state_create(plain, 1, 2, &state) != LACUNA_OK) return 1;
  lacuna_state_free(state);
  lacuna_method_free(segmented);
  lacuna_method_free(plain);
  puts(lacuna_version());
  return 0;
}
