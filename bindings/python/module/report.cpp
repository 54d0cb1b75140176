#include "bindings/python/module/report.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>

namespace lacuna::python {
namespace {

nb::dict measures_of(const Report& report) {
  nb::dict all;
  for (const auto& [name, value] : report.measures) all[name] = value;
  return all;
}

double measure(const Report& report, const std::string& name) {
  std::string known;
  for (const auto& [one, value] : report.measures) {
    if (name == one) return value;
    known += (known.empty() ? "" : ", ") + std::string(one);
  }
  throw nb::key_error(("no measure '" + name + "'; there are: " + (known.empty() ? "none" : known)).c_str());
}

double left_out(const Report& report) {
  if (report.c.dense_contributions == 0) return 0;
  return 1 - static_cast<double>(report.c.contributions) / static_cast<double>(report.c.dense_contributions);
}

std::string text_of(const Report& report) {
  if (report.source) {
    return "<lacuna.Report source=" + std::to_string(*report.source) + " count=" + std::to_string(*report.count) + ">";
  }
  const std::string algorithm = std::string("<lacuna.Report algorithm=") + report.algorithm;
  if (report.method.empty()) return algorithm + ">";
  return algorithm + " method=" + report.method + " sent=" + std::to_string(report.c.sent) +
         " dense_sent=" + std::to_string(report.c.dense_sent) + ">";
}

/// Binds a number of lacuna_report.
template <class Number>
void bind_number(nb::class_<Report>& type, const char* name, Number lacuna_report::*member, const char* words) {
  type.def_prop_ro(
      name, [member](const Report& report) { return report.c.*member; }, words);
}

}  // namespace

Report report_of(const lacuna_request* request, const Method* method) {
  Report report;
  check(lacuna_get_algorithm(request, &report.algorithm));
  if (!method) return report;
  check(lacuna_get_report(request, &report.c));
  report.method = method->name;
  for (const char* name : method->measures) {
    double value = 0;
    check(lacuna_get_report_measure(request, name, &value));
    report.measures.emplace_back(name, value);
  }
  return report;
}

void bind_reports(nb::module_& module) {
  nb::class_<Report> type(
      module, "Report",
      "What a call has done on this rank, compared with the dense call: the same algorithm and data "
      "without the method. All numbers are 0 if the call had no method or gave nothing up.");
  bind_number(type, "rounds", &lacuna_report::rounds, "Messages on the longest chain that wait for each other.");
  bind_number(type, "dense_rounds", &lacuna_report::dense_rounds, "Rounds of the dense call.");
  bind_number(type, "sent", &lacuna_report::sent, "Payload that this rank has sent, in bytes.");
  bind_number(type, "dense_sent", &lacuna_report::dense_sent, "Payload that it sends in the dense call, in bytes.");
  bind_number(type, "received", &lacuna_report::received, "Payload that this rank has received, in bytes.");
  bind_number(type, "dense_received", &lacuna_report::dense_received,
              "Payload that it receives in the dense call, in bytes.");
  bind_number(type, "contributions", &lacuna_report::contributions,
              "Terms of all ranks in all elements that are reduced.");
  bind_number(type, "dense_contributions", &lacuna_report::dense_contributions, "Terms of the dense call.");
  bind_number(type, "lacking", &lacuna_report::lacking, "Elements that other ranks have and this one does not get.");
  type.def_prop_ro(
          "bytes_saved",
          [](const Report& report) {
            return static_cast<std::int64_t>(report.c.dense_sent) - static_cast<std::int64_t>(report.c.sent);
          },
          "dense_sent - sent.")
      .def_prop_ro("left_out", &left_out, "The share of the contributions that is left out, from 0 to 1.")
      .def_prop_ro(
          "algorithm", [](const Report& report) { return report.algorithm; },
          "The name of the algorithm that has carried out the call; empty for a message.")
      .def_ro("method", &Report::method, "The name of the method; empty if there was none.")
      .def_prop_ro("measures", &measures_of, "The measures of the method, by name.",
                   nb::sig("def measures(self) -> dict[str, float]"))
      .def("__getitem__", &measure, nb::arg("name"), "Return a measure of the method by its name.")
      .def_ro("count", &Report::count, "How many elements a received message had; None for other calls.")
      .def_ro("source", &Report::source, "The rank that has sent the message; None for other calls.")
      .def("__repr__", &text_of);
}

}  // namespace lacuna::python
