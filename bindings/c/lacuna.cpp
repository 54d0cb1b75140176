#include "bindings/c/lacuna.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <string>

#include "bindings/cpp/lacuna.hpp"

struct lacuna_communicator {
  lacuna::Communicator communicator;
};

struct lacuna_request {
  lacuna::Request request;
};

namespace {

using lacuna::Code;
using lacuna::Collective;
using lacuna::Status;

thread_local std::string last_error;

lacuna_status done(const Status& status) {
  if (!status) last_error = status.message();
  return static_cast<lacuna_status>(status.code());
}

/// Nothing may fly out of the C interface, not even for lack of memory.
template <class Body>
lacuna_status guarded(Body body) noexcept {
  try {
    return done(body());
  } catch (const std::bad_alloc&) {
    return done({Code::Internal, "out of memory"});
  } catch (const std::exception& error) {
    return done({Code::Internal, error.what()});
  }
}

/// Copies what the caller's version of a structure has; members that it lacks keep their defaults.
template <class T>
Status read(const T* given, T& value) {
  if (!given) return {};
  if (given->struct_size < sizeof(given->struct_size) || given->struct_size > sizeof(T)) {
    return {Code::InvalidArgument, "struct_size is " + std::to_string(given->struct_size) + ", must be at most " +
                                       std::to_string(sizeof(T)) + ": set it with the _INIT macro"};
  }
  std::memcpy(&value, given, given->struct_size);
  return {};
}

Status check_range(const char* what, std::int32_t value, std::int32_t most) {
  if (value >= 0 && value <= most) return {};
  return {Code::InvalidArgument,
          std::string(what) + " is " + std::to_string(value) + ", must be 0 .. " + std::to_string(most)};
}

Status null_argument(const char* what) { return {Code::InvalidArgument, std::string(what) + " is null"}; }

/// Whole milliseconds, rounded up; what is longer than decades is cut to that.
Status read_seconds(const char* what, double seconds, std::chrono::milliseconds& value) {
  constexpr double most = 1e9;
  if (!(seconds >= 0)) return {Code::InvalidArgument, std::string(what) + " must be 0 or more seconds"};
  value = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(std::min(seconds, most) * 1000)));
  return {};
}

Status read_options(const lacuna_options* given, lacuna::Options& options) {
  lacuna_options value = LACUNA_OPTIONS_INIT;
  if (Status valid = read(given, value); !valid) return valid;
  if (Status valid = check_range("skip_mode", value.skip_mode, LACUNA_SKIP_RANDOM); !valid) return valid;
  if (Status valid = check_range("priority", value.priority, LACUNA_LOW); !valid) return valid;
  if (Status valid = read_seconds("deadline", value.deadline, options.deadline); !valid) return valid;
  static_assert(sizeof(lacuna_sampler) == sizeof(lacuna::Sampler));
  if (value.algorithm) options.algorithm = value.algorithm;
  options.skip_steps = value.skip_steps;
  options.skip_mode = static_cast<lacuna::SkipMode>(value.skip_mode);
  options.sampler = reinterpret_cast<lacuna::Sampler*>(value.sampler);
  options.priority = static_cast<lacuna::Priority>(value.priority);
  if (value.notify) options.notify = value.token;
  return {};
}

Status read_buffer(const lacuna_buffer* given, const char* name, lacuna_buffer& value) {
  if (!given) return null_argument(name);
  if (Status valid = read(given, value); !valid) return valid;
  if (Status valid = check_range("dtype", value.dtype, LACUNA_U8); !valid) return valid;
  return check_range("memory", value.memory, LACUNA_CUDA_MANAGED);
}

/// What the caller of a collective gives; one without root or reduction ignores it.
struct Arguments {
  const lacuna_buffer* input = nullptr;
  const lacuna_buffer* output = nullptr;
  lacuna_reduction reduction = LACUNA_SUM;
  int32_t root = 0;
  const lacuna_blocks* input_blocks = nullptr;
  const lacuna_blocks* output_blocks = nullptr;
};

Status read_blocks(const lacuna_blocks* given, std::size_t ranks, lacuna::Blocks& blocks) {
  lacuna_blocks value = LACUNA_BLOCKS_INIT;
  if (!given) return null_argument("blocks");
  if (Status valid = read(given, value); !valid) return valid;
  if (!value.counts) return null_argument("counts");
  blocks.counts = {value.counts, ranks};
  if (value.offsets) blocks.offsets = {value.offsets, ranks};
  if (value.received) blocks.received = {value.received, ranks};
  return {};
}

/// The tables of the buffers that this rank has.
Status read_tables(const lacuna::Communicator& communicator, const Arguments& given, lacuna::Call& call) {
  const lacuna::CollectiveTraits& traits = lacuna::traits_of(call.collective);
  if (!lacuna::has_tables(call.collective)) return {};
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const bool in = lacuna::reads_input(call.collective, communicator.rank(), call.root);
  const bool out = lacuna::writes_output(call.collective, communicator.rank(), call.root);
  Status valid;
  if (in && traits.input == lacuna::Holds::Blocks) valid = read_blocks(given.input_blocks, ranks, call.input_blocks);
  if (!valid || !out || traits.output != lacuna::Holds::Blocks) return valid;
  return read_blocks(given.output_blocks, ranks, call.output_blocks);
}

/// Fills a call from its buffers; one that this rank does not have may be null.
Status read_buffers(const lacuna::Communicator& communicator, const Arguments& given, lacuna::Call& call) {
  const bool reads = lacuna::reads_input(call.collective, communicator.rank(), call.root);
  const bool writes = lacuna::writes_output(call.collective, communicator.rank(), call.root);
  lacuna_buffer input = LACUNA_BUFFER_INIT, output = LACUNA_BUFFER_INIT;
  if (Status valid = reads ? read_buffer(given.input, "input", input) : Status(); !valid) return valid;
  if (Status valid = writes ? read_buffer(given.output, "output", output) : Status(); !valid) return valid;
  if (reads && writes) {
    if (input.dtype != output.dtype) return {Code::InvalidArgument, "input and output differ in dtype"};
    if (input.memory != output.memory) return {Code::InvalidArgument, "input and output differ in memory kind"};
  }
  if (Status valid = read_tables(communicator, given, call); !valid) return valid;
  const auto count = communicator.count_of(call, input.count, output.count);
  if (!count) return count.status();
  const lacuna_buffer& one = reads ? input : output;
  call.count = *count;
  call.input = input.data;
  call.output = output.data;
  call.dtype = static_cast<lacuna::Dtype>(one.dtype);
  call.memory = {static_cast<lacuna::MemoryKind>(one.memory), one.device, one.stream};
  return {};
}

/// Is the call to be prepared? Options are valid here.
bool prepares(const lacuna_options* given) {
  lacuna_options value = LACUNA_OPTIONS_INIT;
  return read(given, value) && value.prepare != 0;
}

/// Every collective: with a request it is started or prepared, without one it is carried out.
lacuna_status collective(lacuna_communicator* communicator, Collective what, const Arguments& given,
                         const lacuna_options* options, lacuna_request** request) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    lacuna::Call call{.collective = what, .root = given.root};
    if (Status valid = check_range("reduction", given.reduction, LACUNA_PROD); !valid) return valid;
    call.reduction = static_cast<lacuna::Reduction>(given.reduction);
    if (Status valid = read_options(options, call.options); !valid) return valid;
    if (Status valid = read_buffers(communicator->communicator, given, call); !valid) return valid;
    const bool prepare = prepares(options);
    if (prepare && !request) return null_argument("request");
    if (!request) return communicator->communicator.run(call);
    auto made = prepare ? communicator->communicator.prepare(call) : communicator->communicator.start(call);
    if (!made) return made.status();
    *request = new lacuna_request{std::move(*made)};
    return {};
  });
}

/// Both sides of a message; `Side` is lacuna::Send or lacuna::Receive, but for its peer.
template <class Side>
Status read_message(const lacuna_buffer* data, int32_t tag, const lacuna_options* given, Side& side) {
  lacuna_buffer buffer = LACUNA_BUFFER_INIT;
  lacuna::Options options;
  if (Status valid = read_buffer(data, "data", buffer); !valid) return valid;
  if (Status valid = read_options(given, options); !valid) return valid;
  if (!options.algorithm.empty() || options.skip_steps != 0) {
    return {Code::InvalidArgument, "a message takes neither an algorithm nor steps to skip"};
  }
  if (prepares(given)) return {Code::Unsupported, "messages can't be prepared, only collectives"};
  side.data = buffer.data;
  side.count = buffer.count;
  side.dtype = static_cast<lacuna::Dtype>(buffer.dtype);
  side.tag = tag;
  side.memory = {static_cast<lacuna::MemoryKind>(buffer.memory), buffer.device, buffer.stream};
  side.options = {options.priority, options.deadline, options.notify, {}};
  return {};
}

/// Gives the caller a new communicator, or none where this rank has no part in it.
Status hand_over(lacuna::Result<std::optional<lacuna::Communicator>> made, lacuna_communicator** part) {
  if (!made) return made.status();
  *part = *made ? new lacuna_communicator{**std::move(made)} : nullptr;
  return {};
}

/// Where log lines go; of the process, as lacuna's log itself is.
struct LogTarget {
  lacuna_log_callback callback = nullptr;
  void* user = nullptr;
};
std::mutex log_setting_mutex, log_mutex;
LogTarget log_target;

void log_to_target(lacuna::LogLevel level, std::string_view text, void*) {
  LogTarget target;
  {
    const std::lock_guard lock(log_mutex);
    target = log_target;
  }
  if (target.callback) target.callback(static_cast<int32_t>(level), std::string(text).c_str(), target.user);
}

}  // namespace

void lacuna_set_log_callback(lacuna_log_callback callback, void* user) {
  const std::lock_guard lock(log_setting_mutex);  // a line that is being logged needs the other one
  if (!callback) lacuna::set_log_callback(nullptr, nullptr);
  {
    const std::lock_guard target_lock(log_mutex);
    log_target = {callback, user};
  }
  if (callback) lacuna::set_log_callback(log_to_target, nullptr);
}

const char* lacuna_version(void) { return lacuna::version().data(); }

const char* lacuna_status_text(lacuna_status status) { return lacuna::to_string(static_cast<Code>(status)).data(); }

const char* lacuna_last_error(void) { return last_error.c_str(); }

lacuna_status lacuna_join(const lacuna_world_options* options, lacuna_communicator** communicator) {
  return guarded([&]() -> Status {
    lacuna_world_options value = LACUNA_WORLD_OPTIONS_INIT;
    if (!communicator) return null_argument("communicator");
    if (Status valid = read(options, value); !valid) return valid;
    lacuna::WorldOptions world;
    for (const auto& [name, given] :
         {std::pair("rank", value.rank), {"world_size", value.world_size}, {"progress", value.progress}}) {
      if (given < -1) {
        return {Code::InvalidArgument,
                std::string(name) + " is " + std::to_string(given) + ", must be 0 or more; -1: not set"};
      }
    }
    if (value.rank >= 0) world.rank = value.rank;
    if (value.world_size >= 0) world.size = value.world_size;
    if (value.store) world.store = value.store;
    if (value.key) world.key = value.key;
    if (value.progress >= 0) {
      if (Status valid = check_range("progress", value.progress, LACUNA_THREAD); !valid) return valid;
      world.progress = static_cast<lacuna::Progress>(value.progress);
    }
    auto joined = lacuna::Communicator::world(world);
    if (!joined) return joined.status();
    *communicator = new lacuna_communicator{std::move(*joined)};
    return {};
  });
}

void lacuna_communicator_free(lacuna_communicator* communicator) { delete communicator; }

int32_t lacuna_rank(const lacuna_communicator* communicator) {
  return communicator ? communicator->communicator.rank() : -1;
}

int32_t lacuna_size(const lacuna_communicator* communicator) {
  return communicator ? communicator->communicator.size() : -1;
}

lacuna_status lacuna_communicator_status(const lacuna_communicator* communicator) {
  return guarded([&] { return communicator ? communicator->communicator.status() : null_argument("communicator"); });
}

lacuna_status lacuna_split(lacuna_communicator* communicator, int32_t colour, int32_t key, lacuna_communicator** part) {
  return guarded([&]() -> Status {
    if (!communicator || !part) return null_argument(communicator ? "part" : "communicator");
    return hand_over(communicator->communicator.split(colour, key), part);
  });
}

lacuna_status lacuna_subgroup(lacuna_communicator* communicator, const int32_t* ranks, size_t count,
                              lacuna_communicator** part) {
  return guarded([&]() -> Status {
    if (!communicator || !part) return null_argument(communicator ? "part" : "communicator");
    if (!ranks && count > 0) return null_argument("ranks");
    return hand_over(communicator->communicator.subgroup({ranks, count}), part);
  });
}

lacuna_status lacuna_get_counters(const lacuna_communicator* communicator, lacuna_counters* counters) {
  return guarded([&]() -> Status {
    if (!communicator || !counters) return null_argument(communicator ? "counters" : "communicator");
    lacuna_counters value = LACUNA_COUNTERS_INIT;
    if (Status valid = read(counters, value); !valid) return valid;
    const lacuna::Counters all = communicator->communicator.counters();
    value = {counters->struct_size, all.payload_sent,     all.header_sent,
             all.messages_sent,     all.payload_received, all.messages_received};
    std::memcpy(counters, &value, counters->struct_size);
    return {};
  });
}

lacuna_status lacuna_counters_text(const lacuna_communicator* communicator, int32_t format, char* text, size_t capacity,
                                   size_t* length) {
  return guarded([&]() -> Status {
    if (!communicator || !length) return null_argument(communicator ? "length" : "communicator");
    if (!text && capacity > 0) return null_argument("text");
    if (Status valid = check_range("format", format, LACUNA_PROMETHEUS); !valid) return valid;
    const std::string all = communicator->communicator.counters_text(static_cast<lacuna::CountersFormat>(format));
    *length = all.size();
    if (capacity <= all.size()) {
      return {Code::InvalidArgument,
              "capacity is " + std::to_string(capacity) + ", must be at least " + std::to_string(all.size() + 1)};
    }
    std::memcpy(text, all.c_str(), all.size() + 1);
    return {};
  });
}

lacuna_status lacuna_allreduce(lacuna_communicator* communicator, const lacuna_buffer* input,
                               const lacuna_buffer* output, lacuna_reduction reduction, const lacuna_options* options,
                               lacuna_request** request) {
  return collective(communicator, Collective::Allreduce, {input, output, reduction}, options, request);
}

lacuna_status lacuna_reduce_scatter(lacuna_communicator* communicator, const lacuna_buffer* input,
                                    const lacuna_buffer* output, lacuna_reduction reduction,
                                    const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::ReduceScatter, {input, output, reduction}, options, request);
}

lacuna_status lacuna_allgather(lacuna_communicator* communicator, const lacuna_buffer* input,
                               const lacuna_buffer* output, const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Allgather, {input, output}, options, request);
}

lacuna_status lacuna_broadcast(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t root,
                               const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Broadcast, {data, data, LACUNA_SUM, root}, options, request);
}

lacuna_status lacuna_reduce(lacuna_communicator* communicator, const lacuna_buffer* input, const lacuna_buffer* output,
                            lacuna_reduction reduction, int32_t root, const lacuna_options* options,
                            lacuna_request** request) {
  return collective(communicator, Collective::Reduce, {input, output, reduction, root}, options, request);
}

lacuna_status lacuna_gather(lacuna_communicator* communicator, const lacuna_buffer* input, const lacuna_buffer* output,
                            int32_t root, const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Gather, {input, output, LACUNA_SUM, root}, options, request);
}

lacuna_status lacuna_scatter(lacuna_communicator* communicator, const lacuna_buffer* input, const lacuna_buffer* output,
                             int32_t root, const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Scatter, {input, output, LACUNA_SUM, root}, options, request);
}

lacuna_status lacuna_alltoall(lacuna_communicator* communicator, const lacuna_buffer* input,
                              const lacuna_buffer* output, const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Alltoall, {input, output}, options, request);
}

lacuna_status lacuna_scan(lacuna_communicator* communicator, const lacuna_buffer* input, const lacuna_buffer* output,
                          lacuna_reduction reduction, const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Scan, {input, output, reduction}, options, request);
}

lacuna_status lacuna_exclusive_scan(lacuna_communicator* communicator, const lacuna_buffer* input,
                                    const lacuna_buffer* output, lacuna_reduction reduction,
                                    const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::ExclusiveScan, {input, output, reduction}, options, request);
}

lacuna_status lacuna_reduce_scatterv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                     const lacuna_blocks* blocks, const lacuna_buffer* output,
                                     lacuna_reduction reduction, const lacuna_options* options,
                                     lacuna_request** request) {
  return collective(communicator, Collective::ReduceScatterv, {input, output, reduction, 0, blocks}, options, request);
}

lacuna_status lacuna_allgatherv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                const lacuna_buffer* output, const lacuna_blocks* blocks, const lacuna_options* options,
                                lacuna_request** request) {
  return collective(communicator, Collective::Allgatherv, {input, output, LACUNA_SUM, 0, nullptr, blocks}, options,
                    request);
}

lacuna_status lacuna_gatherv(lacuna_communicator* communicator, const lacuna_buffer* input, const lacuna_buffer* output,
                             const lacuna_blocks* blocks, int32_t root, const lacuna_options* options,
                             lacuna_request** request) {
  return collective(communicator, Collective::Gatherv, {input, output, LACUNA_SUM, root, nullptr, blocks}, options,
                    request);
}

lacuna_status lacuna_scatterv(lacuna_communicator* communicator, const lacuna_buffer* input,
                              const lacuna_blocks* blocks, const lacuna_buffer* output, int32_t root,
                              const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Scatterv, {input, output, LACUNA_SUM, root, blocks}, options, request);
}

lacuna_status lacuna_alltoallv(lacuna_communicator* communicator, const lacuna_buffer* input,
                               const lacuna_blocks* input_blocks, const lacuna_buffer* output,
                               const lacuna_blocks* output_blocks, const lacuna_options* options,
                               lacuna_request** request) {
  return collective(communicator, Collective::Alltoallv, {input, output, LACUNA_SUM, 0, input_blocks, output_blocks},
                    options, request);
}

lacuna_status lacuna_barrier(lacuna_communicator* communicator, const lacuna_options* options,
                             lacuna_request** request) {
  return collective(communicator, Collective::Barrier, {}, options, request);
}

lacuna_status lacuna_send(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t to, int32_t tag,
                          const lacuna_options* options, lacuna_request** request) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    lacuna::Send side{.to = to};
    if (Status valid = read_message(data, tag, options, side); !valid) return valid;
    auto started = communicator->communicator.start(side);
    if (!started) return started.status();
    if (!request) return started->wait();
    *request = new lacuna_request{std::move(*started)};
    return {};
  });
}

lacuna_status lacuna_receive(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t from, int32_t tag,
                             const lacuna_options* options, size_t* count, lacuna_request** request) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    lacuna::Receive side{.from = from};
    if (Status valid = read_message(data, tag, options, side); !valid) return valid;
    auto started = communicator->communicator.start(side);
    if (!started) return started.status();
    if (request) {
      *request = new lacuna_request{std::move(*started)};
      return {};
    }
    if (Status ended = started->wait(); !ended) return ended;
    if (count) *count = started->received_bytes() / lacuna::size_of(side.dtype);
    return {};
  });
}

lacuna_status lacuna_probe(lacuna_communicator* communicator, int32_t from, int32_t tag, int32_t* found,
                           uint64_t* bytes) {
  return guarded([&]() -> Status {
    if (!communicator || !found || !bytes) return null_argument(communicator ? "found or bytes" : "communicator");
    const auto message = communicator->communicator.probe(from, tag);
    if (!message) return message.status();
    *found = message->has_value() ? 1 : 0;
    *bytes = message->value_or(0);
    return {};
  });
}

lacuna_status lacuna_received_bytes(const lacuna_request* request, uint64_t* bytes) {
  return guarded([&]() -> Status {
    if (!request || !bytes) return null_argument(request ? "bytes" : "request");
    *bytes = request->request.received_bytes();
    return {};
  });
}

lacuna_status lacuna_test(lacuna_request* request, int32_t* finished) {
  return guarded([&]() -> Status {
    if (!request || !finished) return null_argument(request ? "finished" : "request");
    *finished = request->request.test() ? 1 : 0;
    return {};
  });
}

lacuna_status lacuna_wait(lacuna_request* request, double timeout) {
  return guarded([&]() -> Status {
    if (!request) return null_argument("request");
    if (timeout < 0) return request->request.wait();
    std::chrono::milliseconds longest{0};
    if (Status valid = read_seconds("timeout", timeout, longest); !valid) return valid;
    return request->request.wait(longest);
  });
}

lacuna_status lacuna_start(lacuna_request* request) {
  return guarded([&] { return request ? request->request.start() : null_argument("request"); });
}

lacuna_status lacuna_reclaimed(lacuna_request* request, int32_t* reclaimed) {
  return guarded([&]() -> Status {
    if (!request || !reclaimed) return null_argument(request ? "reclaimed" : "request");
    *reclaimed = request->request.reclaimed() ? 1 : 0;
    return {};
  });
}

void lacuna_request_free(lacuna_request* request) { delete request; }

lacuna_status lacuna_progress(lacuna_communicator* communicator, int32_t* moved) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    const bool anything = communicator->communicator.progress();
    if (moved) *moved = anything ? 1 : 0;
    return {};
  });
}

int32_t lacuna_event_fd(const lacuna_communicator* communicator) {
  return communicator ? communicator->communicator.event_fd() : -1;
}

lacuna_status lacuna_arm(lacuna_communicator* communicator, int32_t* armed) {
  return guarded([&]() -> Status {
    if (!communicator || !armed) return null_argument(communicator ? "armed" : "communicator");
    *armed = communicator->communicator.arm() ? 1 : 0;
    return {};
  });
}

lacuna_status lacuna_next_completion(lacuna_communicator* communicator, int32_t* found, uint64_t* token,
                                     lacuna_status* outcome) {
  return guarded([&]() -> Status {
    if (!communicator || !found || !token || !outcome) return null_argument("an argument");
    const auto next = communicator->communicator.next_completion();
    *found = next ? 1 : 0;
    if (!next) return {};
    *token = next->token;
    *outcome = static_cast<lacuna_status>(next->status.code());
    return {};
  });
}
