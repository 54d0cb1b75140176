#include "runtime/values/status.hpp"

#include "runtime/values/utf8.hpp"

namespace lacuna {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::Ok:
      return "ok";
    case Code::InvalidArgument:
      return "invalid argument";
    case Code::Unsupported:
      return "unsupported";
    case Code::Mismatch:
      return "mismatch";
    case Code::TimedOut:
      return "timed out";
    case Code::Busy:
      return "busy";
    case Code::PeerFailed:
      return "peer failed";
    case Code::Poisoned:
      return "poisoned";
    case Code::Transport:
      return "transport error";
    case Code::Io:
      return "input/output error";
    case Code::Internal:
      return "internal error";
  }
  return "unknown code";
}

Status::Status(Code code, std::string message)
    : code_(code),
      message_(code == Code::Ok ? nullptr
                                : std::make_shared<const std::string>(escape_other_than_utf8(std::move(message)))) {}

std::string Status::to_string() const {
  std::string text(lacuna::to_string(code_));
  if (message_ && !message_->empty()) text.append(": ").append(*message_);
  return text;
}

}  // namespace lacuna
