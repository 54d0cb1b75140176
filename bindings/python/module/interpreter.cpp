#include "bindings/python/module/interpreter.hpp"

#include <unistd.h>

#include <atomic>

#include "bindings/python/module/exit.hpp"

namespace lacuna::python {
namespace {

PyObject* errors = nullptr;  // a tuple, which lives as long as the process

// The thread that ends the interpreter. 0: the interpreter goes on.
std::atomic<unsigned long> ending_thread = 0;

}  // namespace

void begin_ending() { ending_thread = PyThread_get_thread_ident(); }

void stay_if_ending() {
  const unsigned long ending = ending_thread.load(std::memory_order_relaxed);
  if (ending == 0 || ending == PyThread_get_thread_ident()) return;
  while (true) ::pause();
}

void set_errors(nb::list classes) { errors = PyList_AsTuple(classes.ptr()); }

void fail(lacuna_status status, const std::string& text) {
  const auto place = static_cast<Py_ssize_t>(status);
  const bool known = place < PyTuple_GET_SIZE(errors);
  PyErr_SetString(PyTuple_GET_ITEM(errors, known ? place : 0), text.c_str());
  throw nb::python_error();
}

void check(lacuna_status status) {
  if (status != LACUNA_OK) fail(status, lacuna_last_error());
}

void fail_type(const char* what, nb::handle given, const char* allowed) {
  PyErr_Format(PyExc_TypeError, "%s is of type %s; allowed: %s", what, Py_TYPE(given.ptr())->tp_name, allowed);
  throw nb::python_error();
}

int number_of(nb::handle name, const char* what, const char* const* names, int count) {
  std::string allowed;
  for (int i = 0; i < count; ++i) {
    if (PyUnicode_Check(name.ptr()) && PyUnicode_CompareWithASCIIString(name.ptr(), names[i]) == 0) return i;
    allowed += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  fail(LACUNA_INVALID_ARGUMENT, std::string(what) + " is " + nb::repr(name).c_str() + "; allowed: " + allowed);
}

}  // namespace lacuna::python
