#include "tests/support/receive_fuzz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/engine/wire.hpp"
#include "tests/support/calls.hpp"
#include "tests/support/meddler.hpp"
#include "tests/support/paired_sum.hpp"
#include "tests/support/ranks.hpp"

namespace lacuna::test {
namespace {

using Floats = std::vector<float>;
using runtime::MessageHeader;

constexpr float untouched = -7;
constexpr std::size_t spare = 40;  ///< so many elements has a receive beyond the message

/// The bytes of the game, which are taken one after the other. After their end there are zeros.
class Draws {
 public:
  explicit Draws(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool any() const { return !bytes_.empty(); }
  /// A number in 0 .. below-1. `below` is at most 2^16.
  std::size_t below(std::size_t below) {
    const std::size_t low = byte();
    return (below > 256 ? low << 8 | byte() : low) % below;
  }
  std::uint64_t word() {
    std::uint64_t all = 0;
    for (int i = 0; i < 8; ++i) all = all << 8 | byte();
    return all;
  }

 private:
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }

  std::span<const std::uint8_t> bytes_;
};

/// What both ranks do once: a call, or a message from rank 1 to rank 0.
struct Deed {
  enum class Kind : std::uint8_t { Broadcast, Reduce, Maximum, Barrier, Message, PairedSum };

  Kind kind = Kind::Broadcast;
  int tag = 0;
  PairedSum lengths;
  Floats inputs[2], outputs[2];
  runtime::Run* runs[2] = {nullptr, nullptr};
};

class Game {
 public:
  explicit Game(Draws draws)
      : draws_(draws), lies_(draws_.below(2) == 1), reports_(lies_ && draws_.below(2) == 1), ranks_(2, options()) {
    if (reports_) ranks_.executor(0).set_reporter([](const runtime::Trouble&) {});
  }

  std::string play() {
    for (int turn = 0; turn < 400 && draws_.any(); ++turn) move();
    if (!lies_) finish();
    for (const Deed& deed : deeds_) {
      if (std::string wrong = look_at(deed); !wrong.empty()) return wrong;
    }
    return end();
  }

 private:
  RanksOptions options() {
    RanksOptions all{.network = {.eager_limit = 256}, .executor = quick_executor()};
    all.executor.credit_bytes = std::size_t{1} << (10 + draws_.below(8));
    all.executor.eager_bytes = draws_.below(3) == 0 ? 0 : 1 << 30;
    all.executor.slots = 1 + static_cast<std::uint32_t>(draws_.below(3));
    all.executor.chunk_bytes = 1024;
    all.executor.max_runs = 64;  // so that every doubled message is known as doubled
    all.wrap = [this](Rank rank, std::unique_ptr<Transport> transport) -> std::unique_ptr<Transport> {
      if (rank != 0) return transport;
      auto meddler = std::make_unique<Meddler>(std::move(transport));
      meddler_ = meddler.get();
      return meddler;
    };
    return all;
  }

  void move() {
    switch (draws_.below(lies_ ? 10 : 8)) {
      case 0:
      case 1:
        return think_of_a_deed();
      case 2:
        return post(0);
      case 3:
        return post(1);
      case 4:
      case 5:
        if (!meddler_->held.empty()) meddler_->pass(draws_.below(std::min<std::size_t>(meddler_->held.size(), 8)));
        break;
      case 6:
        if (!meddler_->passed.empty()) repeat(meddler_->passed);
        break;
      case 7:
        break;
      case 8:
        return lie(meddler_->held);
      default:
        return lie(meddler_->passed);
    }
    ranks_.sweep();
  }

  void think_of_a_deed() {
    if (deeds_.size() >= 24) return;
    Deed& deed = *deeds_.insert(deeds_.end(), Deed());
    deed.kind = static_cast<Deed::Kind>(draws_.below(6));
    deed.tag = static_cast<int>(draws_.below(2)) * 64;
    const std::size_t count = draws_.below(3) == 0 ? draws_.below(4) : draws_.below(1500);
    for (int rank : {0, 1}) {
      PairedSum::Lengths& sent = deed.lengths.of[rank];
      sent.first = draws_.below(3) == 0 ? 0 : draws_.below(count + 1);
      sent.last = draws_.below(3) == 0 ? 0 : draws_.below(count - sent.first + 1);
      deed.inputs[rank].assign(count, 1);
      deed.outputs[rank].assign(count + (deed.kind == Deed::Kind::Message ? spare : 0), untouched);
      if (lies_) continue;
      for (std::size_t i = 0; i < count; ++i) deed.inputs[rank][i] = value(i, rank);
    }
  }

  float value(std::size_t i, int rank) const { return lies_ ? 1.0f : static_cast<float>((i % 97 + 1) << (7 * rank)); }
  float expected(const Deed& deed, int rank, std::size_t i) const {
    if (deed.kind == Deed::Kind::PairedSum) {
      const PairedSum::Lengths& came = deed.lengths.of[1 - rank];
      const bool comes = i < came.first || i >= deed.inputs[0].size() - came.last;
      return value(i, rank) + (comes ? value(i, 1 - rank) : 0);
    }
    if (deed.kind == Deed::Kind::Reduce) return value(i, 0) + value(i, 1);
    return value(i, 1);  // the value of rank 1 is the larger one
  }

  void post(int rank) {
    std::size_t& next = posted_[rank];
    if (next == deeds_.size()) return;
    Deed& deed = deeds_[next++];
    runtime::Communicator& communicator = ranks_.communicator(rank);
    if (!communicator.status()) return;
    if (deed.kind == Deed::Kind::Message) {
      auto posted =
          rank == 0 ? communicator.post(Receive{
                          .data = deed.outputs[0].data(), .count = deed.outputs[0].size(), .from = 1, .tag = deed.tag})
                    : communicator.post(Send{
                          .data = deed.inputs[1].data(), .count = deed.inputs[1].size(), .to = 0, .tag = deed.tag});
      if (posted) deed.runs[rank] = *posted;
      return;
    }
    Call call = call_of(deed, rank);
    if (deed.kind == Deed::Kind::PairedSum) {
      if (auto posted = communicator.post(call, paired_sum_algorithm)) deed.runs[rank] = *posted;
      return;
    }
    if (auto posted = ranks_.post(rank, call)) deed.runs[rank] = *posted;
  }

  static Call call_of(Deed& deed, int rank) {
    Call call{.collective = Collective::Barrier};
    if (deed.kind == Deed::Kind::Barrier) return call;
    Floats& output = deed.outputs[rank];
    call.input = deed.inputs[rank].data();
    call.output = output.data();
    call.count = deed.inputs[rank].size();
    switch (deed.kind) {
      case Deed::Kind::Broadcast:
        call.collective = Collective::Broadcast;
        call.root = 1;
        call.output = rank == 1 ? deed.inputs[1].data() : output.data();
        call.input = call.output;
        break;
      case Deed::Kind::Reduce:
        call.collective = Collective::Reduce;
        break;
      case Deed::Kind::PairedSum:
        call.collective = Collective::Allreduce;
        call.options.method = paired_sum(deed.lengths);
        break;
      default:
        call.collective = Collective::Allreduce;
        call.reduction = Reduction::Max;
        call.options.algorithm = "ring";
    }
    return call;
  }

  void repeat(const std::vector<Meddler::Message>& messages) {
    meddler_->show(messages[draws_.below(messages.size())]);
  }

  void lie(const std::vector<Meddler::Message>& messages) {
    Meddler::Message message{.from = 1, .header = std::vector<std::byte>(sizeof(MessageHeader)), .bytes = {}};
    if (!messages.empty()) message = messages[draws_.below(messages.size())];
    MessageHeader header;
    std::memcpy(&header, message.header.data(), sizeof header);
    std::size_t bytes = message.bytes.size();
    for (std::size_t changes = 1 + draws_.below(2); changes > 0; --changes) change(header, bytes);
    std::memcpy(message.header.data(), &header, sizeof header);
    if (draws_.below(64) == 0) message.header.resize(draws_.below(48));
    const float one = 1;
    message.bytes.resize(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      std::memcpy(&message.bytes[i], reinterpret_cast<const std::byte*>(&one) + i % sizeof one, 1);
    }
    if (draws_.below(8) == 0) message.delivery = draws_.below(2) ? Delivery::Descriptor : Delivery::Eager;
    meddler_->show(std::move(message));
    ranks_.sweep();
  }

  /// One of a few lengths that are near to a right one, or far from all right ones.
  std::uint64_t length_near(std::uint64_t right) {
    const std::uint64_t near[] = {0,         right + 64,       right - 64, right + 4,
                                  right - 4, right / 128 * 64, 1,          draws_.below(8000)};
    const std::size_t drawn = draws_.below(10);
    if (drawn < std::size(near)) return near[drawn];
    return drawn == 8 ? draws_.word() : std::numeric_limits<std::uint64_t>::max() - draws_.below(256);
  }

  void change(MessageHeader& header, std::size_t& bytes) {
    const auto small = [&](auto& field) {
      field = static_cast<std::remove_reference_t<decltype(field)>>(field + draws_.below(5) - 2);
    };
    switch (draws_.below(12)) {
      case 0:
        header.communicator = draws_.word();
        break;
      case 1:
        header.bytes = length_near(header.bytes);
        break;
      case 2:
        header.begin_at(length_near(header.offset));
        break;
      case 3:
        draws_.below(4) == 0 ? void(header.run = static_cast<std::uint32_t>(draws_.word())) : small(header.run);
        break;
      case 4:
        small(header.index);
        break;
      case 5:
        draws_.below(4) == 0 ? void(header.digest = static_cast<std::uint32_t>(draws_.word())) : small(header.digest);
        break;
      case 6:
        header.credits = draws_.below(2) ? header.credits + draws_.below(1024) : draws_.word();
        break;
      case 7:
        draws_.below(4) == 0 ? void(header.part = static_cast<std::uint32_t>(draws_.word())) : small(header.part);
        break;
      case 8:
        header.kind = static_cast<runtime::MessageKind>(draws_.below(256));
        break;
      case 9:
        header.dtype = static_cast<Dtype>(draws_.below(256));
        break;
      case 10:
        bytes = draws_.below(8) * 64;
        break;
      default:
        bytes = std::min<std::size_t>(length_near(bytes), 1 << 16);
    }
  }

  void finish() {
    while (posted_[0] < deeds_.size()) post(0);
    while (posted_[1] < deeds_.size()) post(1);
    const auto ended = [&] {
      while (!meddler_->held.empty()) meddler_->pass(0);
      return std::all_of(deeds_.begin(), deeds_.end(), [](const Deed& deed) {
        return (!deed.runs[0] || deed.runs[0]->finished) && (!deed.runs[1] || deed.runs[1]->finished);
      });
    };
    ranks_.sweep_until(ended);
  }

  std::string look_at(const Deed& deed) const {
    for (int rank : {0, 1}) {
      const runtime::Run* run = deed.runs[rank];
      const bool well = run && run->finished && run->status;
      if (!lies_ && !well) {
        return fmt::format("{} on rank {} did not end well: {}", static_cast<int>(deed.kind), rank,
                           run ? run->status.to_string() : "not posted");
      }
      if (std::string wrong = well ? look_at(deed, rank) : ""; !wrong.empty()) return wrong;
    }
    return "";
  }

  std::string look_at(const Deed& deed, int rank) const {
    const Deed::Kind kind = deed.kind;
    const bool has_result =
        kind == Deed::Kind::Maximum || kind == Deed::Kind::PairedSum || (rank == 0 && kind != Deed::Kind::Barrier);
    if (!has_result) return "";
    std::size_t count = deed.inputs[0].size();
    if (kind == Deed::Kind::Message) {
      const std::size_t told = deed.runs[0]->call.count / sizeof(float);
      if (!lies_ && told != count) return fmt::format("{} elements were received of {}", told, count);
      count = told;
    }
    for (std::size_t i = 0; i < deed.outputs[rank].size(); ++i) {
      const float right = i < count ? expected(deed, rank, i) : untouched;
      if (deed.outputs[rank][i] == right) continue;
      return fmt::format("kind {} rank {}: element {} of {} is {}, must be {}", static_cast<int>(kind), rank, i, count,
                         deed.outputs[rank][i], right);
    }
    return "";
  }

  std::string end() {
    for (Rank rank : {0, 1}) ranks_.executor(rank).fail({Code::PeerFailed, "the game is over"});
    for (Rank rank : {0, 1}) ranks_.executor(rank).release(true);
    for (const Deed& deed : deeds_) {
      for (Rank rank : {0, 1}) {
        const runtime::Run* run = deed.runs[rank];
        if (run && !ranks_.communicator(rank).reclaimed(*run)) return "memory is still in use after the verdict";
      }
    }
    return "";
  }

  Draws draws_;
  const bool lies_, reports_;
  std::vector<Deed> deeds_ = reserved();
  std::size_t posted_[2] = {0, 0};
  Meddler* meddler_ = nullptr;
  Ranks ranks_;

  static std::vector<Deed> reserved() {
    std::vector<Deed> deeds;
    deeds.reserve(24);
    return deeds;
  }
};

}  // namespace

std::string play_receive_game(std::span<const std::uint8_t> bytes) { return Game(Draws(bytes)).play(); }

}  // namespace lacuna::test
