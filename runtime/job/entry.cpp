#include "runtime/job/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "runtime/engine/encoding.hpp"
#include "runtime/job/launchers.hpp"
#include "runtime/job/names.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/processors.hpp"

namespace lacuna::runtime {
namespace {

/// The ranks that have each value of a variable.
using Values = std::map<std::size_t, std::vector<Rank>>;

/// Returns ok, or who has which value of a variable that must be equal.
template <class Type>
Status check_equal(std::string_view variable, Values& values) {
  if (values.size() == 1) return {};
  std::vector<std::pair<std::vector<Rank>, std::size_t>> sides;
  for (auto& [value, ranks] : values) sides.emplace_back(std::move(ranks), value);
  std::sort(sides.begin(), sides.end());
  std::string text;
  for (const auto& [ranks, value] : sides) {
    text += fmt::format("{} {} {}; ", name_ranks(ranks), ranks.size() == 1 ? "has" : "have",
                        Type::format(static_cast<typename Type::Value>(value)));
  }
  return {Code::Mismatch, fmt::format("{} differs: {}it must be the same on all ranks", variable, text)};
}

}  // namespace

Status take_place(Config& config, Sharing& sharing) {
  if (config.rank || config.size) return {};
  const auto found = find_launcher();
  if (!found) return found.status();
  if (!*found) return {};
  const Launched& launched = **found;
  log_info(Subsystem::Job, "rank {} of {} by {}", launched.rank, launched.size, launched.by);
  config.rank = launched.rank;
  config.size = launched.size;
  if (!config.store.empty() && !config.store.ends_with(":0")) return {};
  if (config.key.empty()) config.key = launched.key;
  if (launched.share) {
    sharing.set(launched.share);
  } else {
    config.store = launched.store;
  }
  return {};
}

void share_by_launcher(Sharing& sharing) {
  if (std::getenv("LACUNA_RANK") || std::getenv("LACUNA_SIZE")) return;
  const auto found = find_launcher();
  if (found && *found) sharing.set((*found)->share);
}

Status check_rank(const Config& config, bool has_store) {
  const Rank size = config.size.value_or(1), rank = config.rank.value_or(0);
  if (config.rank && !config.size) {
    return {Code::InvalidArgument,
            fmt::format("the rank is {}, but LACUNA_SIZE is not set: how many ranks has the job?", *config.rank)};
  }
  if (!config.rank && size != 1) {
    return {Code::InvalidArgument,
            fmt::format("the job's size is {}, but LACUNA_RANK is not set: which of its ranks is this?", size)};
  }
  if (!config.size && !config.store.empty()) {
    return {Code::InvalidArgument, fmt::format("LACUNA_STORE is {}, but LACUNA_RANK and LACUNA_SIZE are not set: a job "
                                               "of one rank needs no store",
                                               config.store)};
  }
  if (size < 1 || rank < 0 || rank >= size) {
    return {Code::InvalidArgument, fmt::format("rank {} of {}: the rank must be 0 .. size - 1", rank, size)};
  }
  if (!has_store && aggregators_of(config) > 0) {
    return {Code::InvalidArgument,
            fmt::format("LACUNA_AGGREGATORS is {}, but aggregators find the ranks at a store only: set LACUNA_STORE, "
                        "LACUNA_RANK and LACUNA_SIZE, as `lacuna launch --aggregators` does",
                        aggregators_of(config))};
  }
  if (size > 1 && config.store.empty() && has_store) {
    return {Code::InvalidArgument,
            fmt::format("a job of {} ranks needs LACUNA_STORE, host:port where rank 0 listens", size)};
  }
  return {};
}

Status check_aggregator(const Config& config) {
  const Rank ranks = config.size.value_or(0), aggregators = aggregators_of(config), number = config.rank.value_or(-1);
  if (ranks < 1 || aggregators < 1) {
    return {Code::InvalidArgument,
            "an aggregator needs LACUNA_SIZE and LACUNA_AGGREGATORS, the numbers of ranks and of "
            "aggregators of its job; `lacuna launch --aggregators` sets them"};
  }
  if (number < ranks || number >= ranks + aggregators) {
    return {Code::InvalidArgument,
            fmt::format("LACUNA_RANK of an aggregator is {}: in a job of {} and {} it must be {} .. {}", number,
                        count_of(ranks, "rank"), count_of(aggregators, "aggregator"), ranks, ranks + aggregators - 1)};
  }
  if (!config.store.empty()) return {};
  return {Code::InvalidArgument, "an aggregator needs LACUNA_STORE, host:port where rank 0 listens"};
}

std::vector<std::byte> entry_of(const Config& config, const std::vector<std::byte>& address, bool sees_board) {
  Encoder entry;
  entry.put(std::uint64_t{config.credits})
      .put(aggregators_of(config))
      .put(static_cast<std::uint32_t>(usable_processors()))
      .put(static_cast<std::uint8_t>(sees_board))
      .put(address);
  return {entry.bytes().begin(), entry.bytes().end()};
}

Result<Told> read_entries(const std::vector<std::vector<std::byte>>& entries) {
  Told told;
  Values credits, aggregators;
  for (std::size_t rank = 0; rank < entries.size(); ++rank) {
    Decoder entry(entries[rank]);
    credits[entry.get<std::uint64_t>()].push_back(static_cast<Rank>(rank));
    aggregators[static_cast<std::size_t>(entry.get<Rank>())].push_back(static_cast<Rank>(rank));
    told.processors.push_back(entry.get<std::uint32_t>());
    told.all_see_board = entry.get<std::uint8_t>() != 0 && told.all_see_board;
    told.addresses.push_back(entry.bytes(entries[rank].size()));
    if (!entry.complete()) return Status(Code::Internal, fmt::format("rank {} told no address", rank));
  }
  Status equal = check_equal<variable::Bytes>("LACUNA_CREDITS", credits);
  if (equal) equal = check_equal<variable::Count>("LACUNA_AGGREGATORS", aggregators);
  if (!equal) return equal;
  return told;
}

}  // namespace lacuna::runtime
