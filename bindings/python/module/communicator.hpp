#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/python/module/request.hpp"

namespace lacuna::python {

/// How a call is made.
enum class Form { Call = 0, Start = 1, Prepare = 2 };

/// A communicator, as Python sees it.
class Communicator {
 public:
  explicit Communicator(std::shared_ptr<lacuna_communicator> handle);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// The handle, which lives as long as somebody has it. Throws if the communicator was freed.
  std::shared_ptr<lacuna_communicator> use() const;
  void free() { handle_.reset(); }
  bool is_freed() const { return !handle_; }

 private:
  std::shared_ptr<lacuna_communicator> handle_;
};

/// Makes a call or a message in one of the forms. `make` makes its request. Returns a report or a request.
template <class Make>
nb::object carry_out(Form form, const Communicator& self, std::unique_ptr<Operation> operation, Make make) {
  sweep();
  operation->start(make, form == Form::Call);
  if (form == Form::Call) return nb::cast(finish(std::move(operation)));
  operation->communicator = nb::find(self);
  return nb::cast(new Request(std::move(operation)), nb::rv_policy::take_ownership);
}

/// Reads what all calls can have.
struct CallOptions {
  CallOptions(nb::handle algorithm, nb::handle priority, nb::handle deadline);

  lacuna_options c = LACUNA_OPTIONS_INIT;
};

/// Frees all communicators of this process that are not freed yet.
void free_all();

void bind_communicators(nb::module_& module);
void bind_calls(nb::class_<Communicator>& type);
void bind_messages(nb::class_<Communicator>& type);
void bind_exchanges(nb::module_& module, nb::class_<Communicator>& type);

}  // namespace lacuna::python
