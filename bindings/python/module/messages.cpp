// Messages between two ranks.
#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>

#include "bindings/python/module/communicator.hpp"

namespace lacuna::python {
namespace {

int rank_of(std::optional<int> source) { return source.value_or(LACUNA_ANY_RANK); }

nb::object send(Form form, const Communicator& self, nb::handle x, int to, int tag, nb::handle priority,
                nb::handle deadline) {
  auto operation = std::make_unique<Operation>();
  operation->input.values.take(x, "x");
  const CallOptions options(nb::none(), priority, deadline);
  const lacuna_buffer& data = operation->input.values.c();
  return carry_out(form, self, std::move(operation), [&, handle = self.use()](lacuna_request** request) {
    return lacuna_send(handle.get(), &data, to, tag, &options.c, request);
  });
}

nb::object receive(Form form, const Communicator& self, nb::handle x, std::optional<int> source, int tag,
                   nb::handle priority, nb::handle deadline) {
  auto operation = std::make_unique<Operation>();
  operation->output.values.take(x, "x");
  operation->output.values.check_writable("x");
  operation->is_receive = true;
  operation->element_size = operation->output.values.element_size();
  const CallOptions options(nb::none(), priority, deadline);
  const lacuna_buffer& data = operation->output.values.c();
  return carry_out(form, self, std::move(operation), [&, handle = self.use()](lacuna_request** request) {
    return lacuna_receive(handle.get(), &data, rank_of(source), tag, &options.c, nullptr, request);
  });
}

nb::object send_receive(Form form, const Communicator& self, nb::handle x, int to, nb::handle out,
                        std::optional<int> source, int tag, nb::handle priority, nb::handle deadline) {
  auto operation = std::make_unique<Operation>();
  operation->input.values.take(x, "x");
  operation->output.values.take(out, "out");
  operation->output.values.check_writable("out");
  operation->is_receive = true;
  operation->element_size = operation->output.values.element_size();
  const CallOptions options(nb::none(), priority, deadline);
  const lacuna_buffer& sent = operation->input.values.c();
  const lacuna_buffer& received = operation->output.values.c();
  return carry_out(form, self, std::move(operation), [&, handle = self.use()](lacuna_request** request) {
    return lacuna_sendrecv(handle.get(), &sent, to, &received, rank_of(source), tag, &options.c, nullptr, request);
  });
}

std::optional<std::uint64_t> probe(const Communicator& self, int source, int tag) {
  std::int32_t found = 0;
  std::uint64_t bytes = 0;
  check(without_lock([&, handle = self.use()] { return lacuna_probe(handle.get(), source, tag, &found, &bytes); }));
  return found ? std::optional(bytes) : std::nullopt;
}

/// Binds a kind of message in one form. Names, signature and words are those of that form.
template <Form form>
void bind_form(nb::class_<Communicator>& type) {
  constexpr bool starts = form == Form::Start;
  type.def(
      starts ? "start_send" : "send",
      [](const Communicator& self, nb::handle x, int to, int tag, nb::handle priority, nb::handle deadline) {
        return send(form, self, x, to, tag, priority, deadline);
      },
      nb::arg("x"), nb::arg("to"), nb::arg("tag") = 0, nb::kw_only(), nb::arg("priority") = "normal",
      nb::arg("deadline") = nb::none(),
      starts ? "Start to send x to a rank, and return the request."
             : "Send x to a rank. It ends when x may be changed, which may be before the receiver asks for it.",
      starts ? nb::sig("def start_send(self, x: BufferLike, to: int, tag: int = 0, *, priority: str = 'normal', "
                       "deadline: float | None = None) -> Request")
             : nb::sig("def send(self, x: BufferLike, to: int, tag: int = 0, *, priority: str = 'normal', "
                       "deadline: float | None = None) -> Report"));
  type.def(
      starts ? "start_recv" : "recv",
      [](const Communicator& self, nb::handle x, std::optional<int> source, int tag, nb::handle priority,
         nb::handle deadline) { return receive(form, self, x, source, tag, priority, deadline); },
      nb::arg("x"), nb::arg("source") = nb::none(), nb::arg("tag") = 0, nb::kw_only(), nb::arg("priority") = "normal",
      nb::arg("deadline") = nb::none(),
      starts ? "Start to receive a message in x, and return the request."
             : "Receive the next message of a rank, or of any rank, in x. The report says its source and count.",
      starts ? nb::sig("def start_recv(self, x: BufferLike, source: int | None = None, tag: int = 0, *, "
                       "priority: str = 'normal', deadline: float | None = None) -> Request")
             : nb::sig("def recv(self, x: BufferLike, source: int | None = None, tag: int = 0, *, "
                       "priority: str = 'normal', deadline: float | None = None) -> Report"));
  type.def(
      starts ? "start_sendrecv" : "sendrecv",
      [](const Communicator& self, nb::handle x, int to, nb::handle out, std::optional<int> source, int tag,
         nb::handle priority,
         nb::handle deadline) { return send_receive(form, self, x, to, out, source, tag, priority, deadline); },
      nb::arg("x"), nb::arg("to"), nb::arg("out"), nb::arg("source") = nb::none(), nb::arg("tag") = 0, nb::kw_only(),
      nb::arg("priority") = "normal", nb::arg("deadline") = nb::none(),
      starts ? "Start to send x to a rank and to receive a message in out, and return the request of both."
             : "Send x to a rank, and receive a message in out. Ranks that all do this do not wait in a circle.",
      starts ? nb::sig("def start_sendrecv(self, x: BufferLike, to: int, out: BufferLike, source: int | None = "
                       "None, tag: int = 0, *, priority: str = 'normal', deadline: float | None = None) -> Request")
             : nb::sig("def sendrecv(self, x: BufferLike, to: int, out: BufferLike, source: int | None = None, "
                       "tag: int = 0, *, priority: str = 'normal', deadline: float | None = None) -> Report"));
}

}  // namespace

void bind_messages(nb::class_<Communicator>& type) {
  bind_form<Form::Call>(type);
  bind_form<Form::Start>(type);
  type.def("probe", &probe, nb::arg("source"), nb::arg("tag") = 0,
           "Return the bytes of the next message of a rank if one waits to be received, else None.");
}

}  // namespace lacuna::python
