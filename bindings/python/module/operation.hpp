#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "bindings/python/module/buffer.hpp"
#include "bindings/python/module/report.hpp"

namespace lacuna::python {

/// The tables of a buffer that has blocks of different lengths.
struct Tables {
  std::vector<std::size_t> counts, offsets;
  lacuna_blocks c = LACUNA_BLOCKS_INIT;

  /// Reads sequences of integers. Offsets may be None.
  void read(nb::handle counts_given, nb::handle offsets_given, int ranks);
};

/// One side of a call: its buffer, and what says where its elements belong.
struct Side {
  Buffer values, places;
  Tables blocks;
  lacuna_entries entries = LACUNA_ENTRIES_INIT;
};

/// A call or a message, with all that it needs until it has ended. The interpreter's lock guards it, except while a
/// thread is in lacuna with its request.
struct Operation {
  Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation();

  /// Starts it by a function that makes its request, and waits for it a moment if `waits` says so.
  template <class Start>
  void start(Start make, bool waits) {
    outcome_.reset();
    check(without_lock([&] {
      const lacuna_status status = make(&request);
      if (status == LACUNA_OK && waits) wait_for(first_slice);
      return status;
    }));
  }
  /// Has it ended? Makes progress.
  bool test();
  /// Waits until it has ended, or until the time has passed. Handles signals meanwhile. Throws what a handler of a
  /// signal throws, such as KeyboardInterrupt, or TimedOut after the time.
  void wait(std::chrono::steady_clock::time_point until);
  /// Returns the outcome of an operation that has ended, with its report or the text of its error, and lets go of what
  /// it needed unless it is prepared.
  lacuna_status settle(Report& report, std::string& text);
  /// May its buffers be freed?
  bool is_over();

  lacuna_request* request = nullptr;
  Side input, output;
  lacuna_buffer own_block = LACUNA_BUFFER_INIT;  ///< of a call in place: this rank's block of its buffer
  Buffer received;
  std::deque<Buffer> halos;  ///< of an exchange
  nb::object communicator, state, sampler, reduction, method_owner, input_entries, output_entries;
  const Method* method = nullptr;
  bool prepared = false;
  bool is_receive = false;
  bool entered = false;          ///< a thread is in lacuna with its request, or is about to be
  std::size_t element_size = 1;  ///< of a receive, in bytes
  std::size_t found = 0;         ///< entries of its output

 private:
  static constexpr double first_slice = 0.05;  // seconds

  /// Waits so many seconds at most, without the interpreter's lock.
  bool wait_for(double seconds);
  Report read_report() const;
  void let_go();

  std::optional<lacuna_status> outcome_;  // if it is known already
};

/// The point in time so many seconds from now. None is never.
std::chrono::steady_clock::time_point later(nb::handle seconds);
/// How long a thread may be in lacuna, in seconds, before it looks for signals again.
double slice_until(std::chrono::steady_clock::time_point until);
/// Calls the handlers of signals that have come, and throws what they throw.
void handle_signals();

/// Ends an operation that nobody waits for any more. If it goes on, it is kept until it has ended.
void drop(std::unique_ptr<Operation> operation);
/// Waits until an operation has ended, and returns its report or throws its error.
Report finish(std::unique_ptr<Operation> operation);
/// Lets go of the dropped operations that have ended.
void sweep();
/// How many operations of this process go on. Makes progress.
std::size_t in_flight();

}  // namespace lacuna::python
