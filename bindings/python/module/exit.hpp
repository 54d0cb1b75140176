#pragma once

namespace lacuna::python {

/// Says that this thread ends the interpreter. All other threads that come back from lacuna stay there.
void begin_ending();

/// Says that this process joins a job, so that its interpreter leaves it at the end.
void set_home();

/// What happens when the interpreter ends: waits a moment for the calls in flight, and frees all communicators. Memory
/// of calls that go on stays as it is. In a child made by fork() that has not joined itself it does nothing.
void leave();

}  // namespace lacuna::python
