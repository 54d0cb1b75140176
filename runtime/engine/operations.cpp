#include "runtime/engine/operations.hpp"

namespace lacuna::runtime {

bool Operations::end(Operation& operation, bool well) {
  links_.request_pump(operation.peer);
  ActivePart* const part = operation.step.part;
  give_back(operation);
  if (!part) return false;
  Run& run = *part->run;
  --run.operations;
  if (!run.finished) return well;
  if (run.operations == 0) steps_.free(run);
  return false;
}

}  // namespace lacuna::runtime
