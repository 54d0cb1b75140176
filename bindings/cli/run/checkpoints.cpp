// The part of RunSession that writes checkpoint sets and continues from them. The number of a set is the number of
// steps that all methods together have done.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "bindings/checkpoint/checkpoint.hpp"
#include "bindings/checkpoint/config_difference.hpp"
#include "bindings/checkpoint/file_names.hpp"
#include "bindings/cli/run/cost.hpp"
#include "bindings/cli/run/session.hpp"
#include "bindings/cli/shared/agree.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

constexpr std::int64_t no_set = -1;
constexpr std::size_t digest_length = 64;

/// What rank 0 needs to know about a rank's file, in a form that travels.
struct PackedSum {
  std::uint64_t bytes = 0;
  std::array<char, digest_length> sha256{};
};

}  // namespace

Status RunSession::restore() {
  std::array<std::int64_t, 1> set = {no_set};
  Status found;
  if (first_rank()) {
    const Result<std::int64_t> newest = find_set();
    if (newest) set[0] = *newest;
    found = newest.status();
  }
  if (Status agreed = agree(communicator_, found); !agreed) return agreed;
  if (Status shared = communicator_.call(broadcast(set)); !shared) return shared;
  return set[0] == no_set ? Status::ok() : read_set(set[0]);
}

Result<std::int64_t> RunSession::find_set() {
  const Result<checkpoint::SetSearch> search = checkpoint::newest_set(config_.output, communicator_.size());
  if (!search) return search.status();
  for (const std::string& reason : search->passed_over)
    fmt::print(stderr, "lacuna run: passed over a checkpoint: {}\n", reason);
  if (!search->set) return no_set;
  if (search->set->config_text == config_.values) return search->set->step;
  return Status(
      Code::InvalidArgument,
      fmt::format("{} holds checkpoints of another config; --fresh starts anew and removes them. The values in "
                  "effect, then (-) and now (+):\n{}",
                  config_.output.string(), checkpoint::config_difference(search->set->config_text, config_.values)));
}

Status RunSession::read_set(std::int64_t set) {
  const std::uint64_t done = static_cast<std::uint64_t>(set);
  const std::size_t method = static_cast<std::size_t>((done - 1) / steps_);
  if (done == 0 || method >= config_.methods.size()) {
    return {Code::Io, fmt::format("{}: there is no step {} in {} of {}", config_.output.string(), set,
                                  count_of(config_.methods.size(), "method"), count_of(steps_, "step"))};
  }
  if (Status ready = set_up(method); !ready) return ready;
  const auto read = [&]() -> Status {
    const std::vector<StateItem> items = config_.workload->state();
    const Result<Attributes> attributes =
        checkpoint::read_rank_file({config_.output, set, communicator_.rank(), communicator_.size()}, items);
    if (!attributes) return attributes.status();
    if (Status taken = config_.workload->restored(); !taken) return taken;
    const std::string* text = find_attribute<std::string>(*attributes, "record");
    Result<RunRecord> record = record_from_json(text == nullptr ? "" : *text);
    if (!record) return record.status();
    if (record->size() != method + 1) return {Code::Io, "the checkpoint's record does not fit its step"};
    if (Status fits = check_measures(*record, config_.methods); !fits) return fits;
    record_ = *std::move(record);
    return Status::ok();
  };
  if (Status agreed = agree(communicator_, read()); !agreed) return agreed;
  step_ = done - method * steps_;
  if (!current().finished) display_.line(fmt::format("{}: continues at step {} of {}", current().label, step_, steps_));
  return Status::ok();
}

Status RunSession::save() {
  const auto set = static_cast<std::int64_t>((record_.size() - 1) * steps_ + step_);
  const Attributes attributes = {
      {"method", current().label}, {"method_step", static_cast<std::int64_t>(step_)}, {"record", to_json(record_)}};
  const std::vector<StateItem> items = config_.workload->state();
  const checkpoint::RankFile mine{config_.output, set, communicator_.rank(), communicator_.size()};
  checkpoint::FileSum sum;
  const auto write = [&]() -> Status {
    Result<checkpoint::FileSum> written = checkpoint::write_rank_file(mine, items, attributes);
    if (written) sum = *std::move(written);
    return written.status();
  };
  return write_manifest(set, first_rank() ? write_in_folder(write) : write(), sum);
}

Status RunSession::write_manifest(std::int64_t set, const Status& written, const checkpoint::FileSum& sum) {
  if (Status agreed = agree(communicator_, written); !agreed) return agreed;
  PackedSum mine{.bytes = sum.bytes};
  std::memcpy(mine.sha256.data(), sum.sha256.data(), std::min(sum.sha256.size(), digest_length));
  std::vector<PackedSum> sums(static_cast<std::size_t>(communicator_.size()));
  const auto bytes_of = [](auto span) {
    return std::span(reinterpret_cast<std::uint8_t*>(span.data()), span.size_bytes());
  };
  const std::span<const std::uint8_t> input = bytes_of(std::span(&mine, 1));
  if (Status gathered = communicator_.call(allgather(input, bytes_of(std::span(sums)))); !gathered) return gathered;

  const auto complete = [&]() -> Status {
    checkpoint::Manifest manifest{.step = set, .files = {}, .config_text = config_.values, .config_digest = ""};
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      manifest.files.push_back({.name = checkpoint::rank_file_name(set, static_cast<Rank>(rank)),
                                .bytes = sums[rank].bytes,
                                .sha256 = {sums[rank].sha256.data(), digest_length}});
    }
    Result<std::string> digest = checkpoint::digest_of(config_.values);
    if (!digest) return digest.status();
    manifest.config_digest = *std::move(digest);
    if (Status done = checkpoint::write_manifest(config_.output, manifest); !done) return done;
    return checkpoint::prune(config_.output, set);
  };
  return agree(communicator_, first_rank() ? write_in_folder(complete) : Status::ok());
}

}  // namespace lacuna::cli
