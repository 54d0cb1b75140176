#include "runtime/engine/failures.hpp"

#include <fmt/format.h>

#include <new>

#include "runtime/engine/message_tags.hpp"

namespace lacuna::runtime {
namespace {

/// The status of a communicator whose trouble nobody else decides upon.
Code code_of(Trouble::Kind kind) {
  switch (kind) {
    case Trouble::Kind::Refused:
      return Code::InvalidArgument;
    case Trouble::Kind::Mismatch:
      return Code::Mismatch;
    case Trouble::Kind::Broken:
      return Code::Transport;
    case Trouble::Kind::Stalled:
    case Trouble::Kind::Expired:
      break;
  }
  return Code::TimedOut;
}

}  // namespace

Failures::Failures(Rank rank, Deferred& deferred)
    : rank_(rank), out_of_memory_(Code::Internal, fmt::format("rank {} is out of memory", rank)), deferred_(deferred) {}

void Failures::note_thrown() {
  const bool more = thrown_ && thrown_->communicator != serving_;
  thrown_ = {more ? nullptr : serving_, std::current_exception()};
}

Failures::Failure Failures::take_thrown() {
  const Thrown thrown = *std::exchange(thrown_, std::nullopt);
  try {
    std::rethrow_exception(thrown.what);
  } catch (const std::bad_alloc&) {
    return {thrown.communicator, out_of_memory_};
  } catch (const std::exception& error) {
    return {thrown.communicator, {Code::Internal, fmt::format("rank {}: {}", rank_, error.what())}};
  }
}

void Failures::report(Client& communicator, Trouble report) {
  const bool accuses = report.kind == Trouble::Kind::Refused || report.kind == Trouble::Kind::Mismatch;
  if (accuses && !communicator.may_accuse()) return;
  if (reporter_) return deferred_.add(std::move(report));
  if (report.kind != Trouble::Kind::Stalled) fail(communicator, {code_of(report.kind), std::move(report.text)});
}

void Failures::report_message(Client& communicator, Trouble::Kind kind, const MessageName& name, std::string text) {
  Trouble trouble = communicator.trouble(kind, name.tag, std::move(text));
  trouble.name = fmt::format("a message with {} between ranks {} and {}", text_of_tag(name.tag), rank_, name.source);
  trouble.peer = name.source;
  report(communicator, std::move(trouble));
}

void Failures::report_message(const MessageRun& run, Trouble::Kind kind, Rank peer, std::string_view reason) {
  std::string text = run.communicator->text_of(run);
  if (!reason.empty()) text += fmt::format("; {}", reason);
  report_message(*run.communicator, kind, {.source = peer, .tag = run.tag}, std::move(text));
}

}  // namespace lacuna::runtime
