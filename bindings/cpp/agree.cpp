#include "bindings/cpp/agree.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <span>

namespace lacuna {

Status share_text(Communicator& communicator, std::string& text, Rank root) {
  std::array<std::int64_t, 1> bytes = {static_cast<std::int64_t>(text.size())};
  if (Status shared = communicator.call(broadcast(bytes, root)); !shared) return shared;
  text.resize(static_cast<std::size_t>(bytes[0]));
  return communicator.call(broadcast(std::span(reinterpret_cast<std::uint8_t*>(text.data()), text.size()), root));
}

Status agree(Communicator& communicator, const Status& mine) {
  std::array<std::int32_t, 1> failed = {mine ? communicator.size() : communicator.rank()};
  if (Status done = communicator.call(allreduce(failed, failed, Reduction::Min)); !done) return done;
  if (failed[0] == communicator.size()) return Status::ok();
  std::array<std::int32_t, 1> code = {static_cast<std::int32_t>(mine.code())};
  if (Status done = communicator.call(broadcast(code, failed[0])); !done) return done;
  std::string text(mine.message());
  if (Status done = share_text(communicator, text, failed[0]); !done) return done;
  if (communicator.size() > 1) text = fmt::format("rank {}: {}", failed[0], text);
  return {static_cast<Code>(code[0]), std::move(text)};
}

}  // namespace lacuna
