#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/module/method.hpp"

namespace lacuna::python {

/// What a call has done.
struct Report {
  lacuna_report c = LACUNA_REPORT_INIT;
  const char* algorithm = "";  ///< empty: it is that of a message
  std::string method{};        ///< empty: none
  std::vector<std::pair<const char*, double>> measures{};
  std::optional<std::size_t> count{};  ///< elements that a message has brought
  std::optional<int> source{};         ///< the rank that has sent it
};

/// Reads the report of a request that has ended well. The method is that of its call, or null.
Report report_of(const lacuna_request* request, const Method* method);

void bind_reports(nb::module_& module);

}  // namespace lacuna::python
