#include "bindings/cli/command_line.hpp"
#include "bindings/cli/shared/output.hpp"
#include "runtime/values/standard_streams.hpp"

int main(int argc, char** argv) {
  lacuna::hold_standard_streams();
  return lacuna::cli::exit_code_of(lacuna::cli::run_command_line({argv + 1, argv + argc}));
}
