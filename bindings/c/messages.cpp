#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Status;

namespace {

/// Reads what both sides of a message have. `Side` is lacuna::Send or lacuna::Receive, whose peer the caller sets.
template <class Side>
Status read_message(const lacuna_buffer* data, int32_t tag, const lacuna_options* given, Side& side) {
  lacuna_buffer buffer = LACUNA_BUFFER_INIT;
  lacuna::Options options;
  if (Status valid = read_buffer(data, "data", buffer); !valid) return valid;
  if (Status valid = read_options(given, options); !valid) return valid;
  if (!options.algorithm.empty() || options.method) {
    return {Code::InvalidArgument, "a message takes neither an algorithm nor a method"};
  }
  if (prepares(given)) return {Code::Unsupported, "messages can't be prepared, only collectives"};
  side.data = buffer.data;
  side.count = buffer.count;
  side.dtype = static_cast<lacuna::Dtype>(buffer.dtype);
  side.tag = tag;
  side.memory = memory_of(buffer);
  side.options = {options.priority, options.deadline, options.notify, {}};
  return {};
}

}  // namespace

lacuna_status lacuna_send(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t to, int32_t tag,
                          const lacuna_options* options, lacuna_request** request) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    lacuna::Send side{.to = to};
    if (Status valid = read_message(data, tag, options, side); !valid) return valid;
    auto started = communicator->communicator.start(side);
    if (!started) return started.status();
    if (!request) return started->wait();
    *request = new lacuna_request{std::move(*started)};
    return {};
  });
}

lacuna_status lacuna_receive(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t from, int32_t tag,
                             const lacuna_options* options, size_t* count, lacuna_request** request) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    lacuna::Receive side{.from = from};
    if (Status valid = read_message(data, tag, options, side); !valid) return valid;
    auto started = communicator->communicator.start(side);
    if (!started) return started.status();
    if (request) {
      *request = new lacuna_request{std::move(*started)};
      return {};
    }
    if (Status ended = started->wait(); !ended) return ended;
    if (count) *count = started->received_bytes() / lacuna::size_of(side.dtype);
    return {};
  });
}

lacuna_status lacuna_receive_any(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t tag,
                                 const lacuna_options* options, int32_t* from, size_t* count) {
  return guarded([&]() -> Status {
    if (!communicator || !from) return null_argument(communicator ? "from" : "communicator");
    lacuna::Receive side{.from = lacuna::any_rank};
    if (Status valid = read_message(data, tag, options, side); !valid) return valid;
    auto started = communicator->communicator.start(side);
    if (!started) return started.status();
    if (Status ended = started->wait(); !ended) return ended;
    *from = started->source();
    if (count) *count = started->received_bytes() / lacuna::size_of(side.dtype);
    return {};
  });
}

lacuna_status lacuna_sendrecv(lacuna_communicator* communicator, const lacuna_buffer* out, int32_t to,
                              const lacuna_buffer* in, int32_t from, int32_t tag, const lacuna_options* options,
                              size_t* count, lacuna_request** request) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    lacuna::Send send{.to = to};
    lacuna::Receive receive{.from = from};
    if (Status valid = read_message(out, tag, options, send); !valid) return valid;
    if (Status valid = read_message(in, tag, options, receive); !valid) return valid;
    auto started = communicator->communicator.start(send, receive);
    if (!started) return started.status();
    if (request) {
      *request = new lacuna_request{std::move(*started)};
      return {};
    }
    if (Status ended = started->wait(); !ended) return ended;
    if (count) *count = started->received_bytes() / lacuna::size_of(receive.dtype);
    return {};
  });
}

lacuna_status lacuna_received_from(const lacuna_request* request, int32_t* from) {
  return guarded([&]() -> Status {
    if (!request || !from) return null_argument(request ? "from" : "request");
    if (Status may = request->home.check(); !may) return may;
    const auto* receive = std::get_if<lacuna::ReceiveRequest>(&request->request);
    *from = receive ? receive->source() : lacuna::any_rank;
    return {};
  });
}

lacuna_status lacuna_probe(lacuna_communicator* communicator, int32_t from, int32_t tag, int32_t* found,
                           uint64_t* bytes) {
  return guarded([&]() -> Status {
    if (!communicator || !found || !bytes) return null_argument(communicator ? "found or bytes" : "communicator");
    const auto message = communicator->communicator.probe(from, tag);
    if (!message) return message.status();
    *found = message->has_value() ? 1 : 0;
    *bytes = message->value_or(0);
    return {};
  });
}

lacuna_status lacuna_received_bytes(const lacuna_request* request, uint64_t* bytes) {
  return guarded([&]() -> Status {
    if (!request || !bytes) return null_argument(request ? "bytes" : "request");
    if (Status may = request->home.check(); !may) return may;
    const auto* receive = std::get_if<lacuna::ReceiveRequest>(&request->request);
    *bytes = receive ? receive->received_bytes() : 0;
    return {};
  });
}
