#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <type_traits>

#include "bindings/cpp/request.hpp"

namespace lacuna {

/// Several requests, to wait for together. It is made from what holds requests one behind the other, such as a
/// std::vector<Request>, a std::array<ReceiveRequest, 4> or a span of one. For requests of different types it is made
/// from pointers to them, such as a std::vector<Request*>. Null and empty requests count as ended well. The list does
/// not own what it is made from. All requests belong to this rank: ranks of one process that Communicator::local has
/// made wait separately.
class RequestList {
 public:
  template <std::ranges::contiguous_range Range>
  requires std::ranges::sized_range<Range> && std::derived_from<std::ranges::range_value_t<Range>, Request> RequestList(
      Range&& requests)
      : data_(const_cast<void*>(static_cast<const void*>(std::ranges::data(requests)))),
        size_(std::ranges::size(requests)),
        find_([](void* data, std::size_t i) -> Request* {
          return static_cast<std::ranges::range_value_t<Range>*>(data) + i;
        }) {
    static_assert(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>,
                  "a wait changes requests, so they can't be const");
  }
  template <std::ranges::contiguous_range Range>
  requires std::ranges::sized_range<Range> && std::is_pointer_v<std::ranges::range_value_t<Range>> &&
      std::derived_from<std::remove_pointer_t<std::ranges::range_value_t<Range>>, Request>
      RequestList(Range&& requests)
      : data_(const_cast<void*>(static_cast<const void*>(std::ranges::data(requests)))),
        size_(std::ranges::size(requests)),
        find_([](void* data, std::size_t i) -> Request* {
          return static_cast<const std::ranges::range_value_t<Range>*>(data)[i];
        }) {}

  /// A list of `size` places. `find(data, place)` returns the request of a place, or null.
  RequestList(void* data, std::size_t size, Request* (*find)(void* data, std::size_t place))
      : data_(data), size_(size), find_(find) {}

  std::size_t size() const { return size_; }

 private:
  friend struct Waits;

  /// Returns the request at a place, or null if it is empty.
  Request* at(std::size_t place) const;
  /// Returns the run of a request that is not empty.
  static runtime::Run& run_of(const Request& request) { return *request.run_; }
  static GroupState& group_of(const Request& request) { return *request.group_; }
  /// Returns the place of the first request that is not empty, or nothing.
  std::optional<std::size_t> first() const;

  void* data_;
  std::size_t size_;
  Request* (*find_)(void* data, std::size_t place);
};

/// What a wait for several requests tells.
struct Waited {
  /// The place of the request of which the status speaks. Nothing: of none in particular.
  std::optional<std::size_t> index{};
  Status status{};
};

/// Waits until all requests have ended, with or without an error, and makes progress meanwhile. Requests that have
/// ended before count too. If all have ended well, the status is ok. Otherwise index is the first place whose request
/// has failed, and the status says so; Request::wait() of each other one returns its own. TimedOut may also mean that
/// `timeout` has passed first. Then index is the first place whose request has not ended (Request::test()), and all of
/// them go on. Deadlines of requests hold as in Request::wait().
Waited wait_all(RequestList requests, std::optional<std::chrono::microseconds> timeout = {});

/// Waits until one request has ended, and makes progress meanwhile. index is its place, the lowest if several have
/// ended, and the status is that of its Request::wait(). It stays in the list: before the next wait_any() a program
/// takes it out, for instance by requests[*index] = {}. If all requests are empty, there is no index, and the status is
/// ok. If none has ended after `timeout`, there is no index, and the status is TimedOut.
Waited wait_any(RequestList requests, std::optional<std::chrono::microseconds> timeout = {});

/// Makes progress, and returns what wait_any() would if one request has ended. Else there is no index, and the status
/// is ok.
Waited test_any(RequestList requests);

}  // namespace lacuna
