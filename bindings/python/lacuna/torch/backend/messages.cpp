#include "backend.hpp"

namespace lacuna_c10d {

Task Backend::message_task(c10d::OpType kind, const char* name, const Tensors& tensors) const {
  return {kind, std::string("lacuna:") + name, tensors, tensors, options_->timeout};
}

WorkPointer Backend::send(Tensors& tensors, int to, int tag) {
  const at::Tensor& tensor = only(tensors);
  Task task = message_task(c10d::OpType::SEND, "send", tensors);
  const at::Tensor data = task.input(tensor);
  const Starter starter = [&](const lacuna_options& options, lacuna_request** request) {
    const lacuna_buffer buffer = buffer_of(data, moved_as(data.scalar_type()));
    return lacuna_send(job_->communicator(), &buffer, to, tag, &options, request);
  };
  return start(std::move(task), {starter});
}

WorkPointer Backend::recv(Tensors& tensors, int from, int tag) {
  return receive(c10d::OpType::RECV, "recv", tensors, from, tag);
}

WorkPointer Backend::recvAnysource(Tensors& tensors, int tag) {
  return receive(c10d::OpType::RECVANYSOURCE, "recvAnySource", tensors, LACUNA_ANY_RANK, tag);
}

WorkPointer Backend::receive(c10d::OpType kind, const char* name, Tensors& tensors, int from, int tag) {
  const at::Tensor& tensor = only(tensors);
  Task task = message_task(kind, name, tensors);
  task.expected = tensor.nbytes();
  const at::Tensor data = task.output(tensor);
  const Starter starter = [&](const lacuna_options& options, lacuna_request** request) {
    const lacuna_buffer buffer = buffer_of(data, moved_as(data.scalar_type()));
    return lacuna_receive(job_->communicator(), &buffer, from, tag, &options, nullptr, request);
  };
  return start(std::move(task), {starter});
}

}  // namespace lacuna_c10d
