#include <pybind11/chrono.h>
#include <torch/extension.h>

#include "backend.hpp"

namespace {

using lacuna_c10d::Backend;

c10::intrusive_ptr<c10d::Backend> create(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                         std::chrono::milliseconds timeout, const std::string& group,
                                         const std::string& method, std::int64_t minimum) {
  auto options = c10::make_intrusive<Backend::Options>(timeout, method, minimum);
  options->group_name = group;
  return c10::make_intrusive<Backend>(store, rank, size, std::move(options));
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  pybind11::module_::import("torch.distributed");  // has the base classes
  pybind11::class_<Backend::Options, c10d::Backend::Options, c10::intrusive_ptr<Backend::Options>>(module, "Options")
      .def_readonly("method", &Backend::Options::method)
      .def_readonly("minimum", &Backend::Options::minimum);
  module.def("create", &create, pybind11::arg("store"), pybind11::arg("rank"), pybind11::arg("size"),
             pybind11::arg("timeout"), pybind11::arg("group"), pybind11::arg("method"), pybind11::arg("minimum"),
             pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def("leave_all", &Backend::leave_all);
}
