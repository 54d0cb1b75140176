#include <lacuna.h>
#include <stdio.h>

int main(void) {
  puts(lacuna_version());
  return 0;
}
