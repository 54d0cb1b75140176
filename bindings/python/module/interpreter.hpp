#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>

#include <string>

#include "bindings/c/lacuna.h"

namespace lacuna::python {

namespace nb = nanobind;

/// Stops this thread for ever if the interpreter ends, unless this is the thread that ends it. Such a thread must not
/// ask for the interpreter's lock again.
void stay_if_ending();

/// Runs `body` without the interpreter's lock, so that other threads of Python go on.
template <class Body>
auto without_lock(Body body) {
  PyThreadState* const thread = PyEval_SaveThread();
  auto result = body();
  stay_if_ending();
  PyEval_RestoreThread(thread);
  return result;
}

/// Throws the exception of a status.
[[noreturn]] void fail(lacuna_status status, const std::string& text);
/// Throws the exception of a status that is not LACUNA_OK, with this thread's last error as its text.
void check(lacuna_status status);
/// Takes the classes of exceptions from a list with one for each lacuna_status, that of LACUNA_OK being their base.
void set_errors(nb::list classes);

/// Throws a TypeError that says what type was given, and what is allowed.
[[noreturn]] void fail_type(const char* what, nb::handle given, const char* allowed);
/// Returns the object of C++ of this type that was given, or throws a TypeError.
template <class T>
T& object_of(nb::handle given, const char* what, const char* allowed) {
  T* object = nullptr;
  if (!nb::try_cast(given, object) || !object) fail_type(what, given, allowed);
  return *object;
}

/// Returns the number of the name in a list of names, or throws an error that shows the list.
int number_of(nb::handle name, const char* what, const char* const* names, int count);

}  // namespace lacuna::python
