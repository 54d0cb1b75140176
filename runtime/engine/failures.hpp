#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/engine/client.hpp"
#include "runtime/engine/deferred.hpp"
#include "runtime/engine/pool.hpp"
#include "runtime/engine/watched.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// What goes wrong while an executor handles messages and steps, until it can act upon it: what they throw, which
/// communicators must fail, and what the watch must hear. Its owner locks.
class Failures {
 public:
  /// A communicator that must fail, and with which status.
  struct Failure {
    Client* communicator = nullptr;  ///< null: all must fail
    Status status;
  };

  /// `deferred` outlives the object.
  Failures(Rank rank, Deferred& deferred);

  /// Sets the function that hears the reports. Without one, this rank decides alone: the communicator fails.
  void set_reporter(std::function<void(const Trouble&)> reporter) { reporter_ = std::move(reporter); }
  const std::function<void(const Trouble&)>& reporter() const { return reporter_; }

  /// Calls `body`, which handles a message or a step of this communicator. If it throws, nothing is thrown here, as the
  /// functions of a transport above may be C code. The communicator fails later. Null: it is not known yet whose
  /// message it is. Returns false if `body` has thrown.
  template <class Body>
  bool serve(Client* communicator, const Body& body) {
    Client* const before = std::exchange(serving_, communicator);
    const bool well = guard(body);
    serving_ = before;
    return well;
  }
  /// Calls `body` for the communicator that is served already.
  template <class Body>
  bool guard(const Body& body) {
    try {
      body();
      return true;
    } catch (...) {
      note_thrown();
      return false;
    }
  }
  /// Will the communicator fail because something was thrown? Until then none of its steps start.
  bool is_doomed(const Client& communicator) const {
    return thrown_ && (!thrown_->communicator || thrown_->communicator == &communicator);
  }
  bool has_thrown() const { return thrown_.has_value(); }
  /// Returns which communicator fails because something was thrown, and forgets that. Must be called only if
  /// has_thrown().
  Failure take_thrown();

  /// The communicator fails once the handlers have returned.
  void fail(Client& communicator, Status status) { waiting_.push({&communicator, std::move(status)}); }
  /// Are there communicators that must fail?
  bool are_waiting() const { return !waiting_.empty(); }
  /// Takes the next of them.
  std::optional<Failure> next() { return waiting_.empty() ? std::nullopt : std::optional(waiting_.pop()); }
  /// The communicator is about to leave.
  void forget(const Client& communicator) {
    waiting_.remove_if([&](const Failure& one) { return one.communicator == &communicator; });
  }

  /// Keeps a report until the lock is free. If nobody hears reports, and this one is of more than a stall, the
  /// communicator fails.
  void report(Client& communicator, Trouble report);
  /// Reports trouble with the call of this number.
  void report(Client& communicator, Trouble::Kind kind, std::uint32_t run, std::string text) {
    report(communicator, communicator.trouble(kind, run, std::move(text)));
  }
  /// Reports trouble with a message between this rank and another one.
  void report_message(Client& communicator, Trouble::Kind kind, const MessageName& name, std::string text);
  /// Says what this side of a message asks for, and then the reason, if there is one.
  void report_message(const MessageRun& run, Trouble::Kind kind, Rank peer, std::string_view reason = {});

  const Status& out_of_memory() const { return out_of_memory_; }

 private:
  /// Something was thrown while this communicator was served. Null: it is unknown which one was, or there were several.
  struct Thrown {
    Client* communicator = nullptr;
    std::exception_ptr what;
  };

  void note_thrown();

  const Rank rank_;
  const Status out_of_memory_;
  Deferred& deferred_;
  std::function<void(const Trouble&)> reporter_;
  Client* serving_ = nullptr;
  std::optional<Thrown> thrown_;
  Fifo<Failure> waiting_;
};

}  // namespace lacuna::runtime
