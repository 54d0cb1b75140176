#pragma once

namespace lacuna {

/// Opens /dev/null in place of each standard stream of this process that is closed, so that nothing which is opened
/// later takes the number of one: the program would print into it. There, as before, nothing can be written. Whatever
/// opens descriptors that stay open calls this first.
/// Thread rule: several threads may call it.
void hold_standard_streams();

}  // namespace lacuna
