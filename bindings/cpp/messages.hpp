#pragma once

#include <type_traits>
#include <utility>

#include "bindings/cpp/elements.hpp"
#include "runtime/values/message.hpp"

namespace lacuna {

/// What is wrong with the buffer of a message, whose elements are to be of type T, unless that is void.
template <class T, class Data, bool is_output>
consteval BufferFault fault_of_message() {
  constexpr BufferFault fault = fault_of_buffer<Data, Buffers::Elements, is_output>();
  if constexpr (fault != BufferFault::None || std::is_void_v<T>) {
    return fault;
  } else {
    return std::is_same_v<T, ElementOf<Data>> ? BufferFault::None : BufferFault::NotNamed;
  }
}

/// Returns the send of a buffer (TypedCall), which it does not own.
template <class T = void, class Data>
Send send_of(Data&& data, Rank to, int tag = 0, MessageOptions options = {}) {
  constexpr BufferFault fault = fault_of_message<T, Data, false>();
  if constexpr (accept_buffers<fault>()) {
    const auto all = elements_of_buffer(data);
    return {all.data, all.size, DtypeOf<ElementOf<Data>>::value, to, tag, all.memory, std::move(options)};
  } else {
    return {};
  }
}

/// Returns the receive of a message into a buffer (TypedCall), which it does not own.
template <class T = void, class Data>
Receive receive_of(Data&& data, Rank from, int tag = 0, MessageOptions options = {}) {
  constexpr BufferFault fault = fault_of_message<T, Data, true>();
  if constexpr (accept_buffers<fault>()) {
    const auto all = elements_of_buffer(data);
    return {all.data, all.size, DtypeOf<ElementOf<Data>>::value, from, tag, all.memory, std::move(options)};
  } else {
    return {};
  }
}

}  // namespace lacuna
