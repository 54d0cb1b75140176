#include "runtime/method/method.hpp"

#include "runtime/values/digest.hpp"

namespace lacuna {
namespace {

std::string text_of(const Method& method, const void* options) {
  const std::shared_ptr<void> defaults = method.make(nullptr);
  std::string text(method.name);
  char separator = ':';
  for (const Option& option : method.options) {
    const OptionValue value = option.get(options);
    if (value == option.get(defaults.get()) || (option.counts && !option.counts(options))) continue;
    text += separator;
    text += option.name;
    text += '=';
    text += value_text(value);
    separator = ',';
  }
  return text;
}

}  // namespace

MethodOptions::MethodOptions(const Method& method, std::shared_ptr<const void> options) {
  Status status = check_options(method.name, method.options, options.get());
  std::string text = text_of(method, options.get());
  const std::uint64_t digest = Digest().add(text).value();
  body_ = std::make_shared<const Body>(Body{&method, std::move(options), std::move(status), std::move(text), digest});
}

const Status& MethodOptions::status() const {
  static const Status none;
  return body_ ? body_->status : none;
}

const std::string& MethodOptions::text() const {
  static const std::string none;
  return body_ ? body_->text : none;
}

const MethodAlgorithm* Method::find(const Algorithm& algorithm) const {
  for (const MethodAlgorithm& one : algorithms) {
    if (one.algorithm == &algorithm) return &one;
  }
  return nullptr;
}

const MethodAlgorithm* Method::find(Collective collective, std::string_view algorithm) const {
  for (const MethodAlgorithm& one : algorithms) {
    if (one.algorithm->collective == collective && (one.name == algorithm || one.algorithm->name == algorithm)) {
      return &one;
    }
  }
  return nullptr;
}

void make_plan(const PlanRequest& request, Plan& plan) {
  const Call& call = request.call;
  const Method* method = method_of(call, request.algorithm);
  plan.clear(method ? method->measures : MeasureTable());
  if (method) return method->plan(request, plan);
  const PartPlan all{.data = {0, call.count}};
  if (request.algorithm.on_board) return add_rows(call, all, request.chunk_bytes, plan);
  add_parts(call, all, request.hosts.size(), request.chunk_bytes, plan);
}

Order order_of(const Binding& binding, const PartPlan& part) {
  const Method* method = part.is_dense() ? nullptr : method_of(binding.call, binding.algorithm);
  return method && method->order ? method->order(binding, part.draw) : dense_order(binding, part);
}

}  // namespace lacuna
