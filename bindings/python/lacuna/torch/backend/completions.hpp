#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "job.hpp"
#include "work.hpp"

namespace lacuna_c10d {

/// Moves the messages of calls for which nobody waits, and completes their Works. For that it has a thread, which it
/// starts with the first such call. While a thread of the program waits for a call, that one moves the messages. While
/// the thread runs callbacks of a future, which may wait for other calls, another one takes its place. Each thread
/// keeps this object, because a callback may end the group.
class Completions : public std::enable_shared_from_this<Completions> {
 public:
  explicit Completions(std::shared_ptr<Job> job);
  /// No thread is left then.
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  /// Watches a Work. Each of its requests was started with its token, and enters the completion queue.
  void add(std::uint64_t token, const c10::intrusive_ptr<Work>& work, std::size_t requests);
  /// Ends all Works that have not ended with an error.
  void fail_all(const std::string& text);
  /// Waits until all Works have ended, at most for this time; then ends the thread. What has not ended fails.
  void stop(std::chrono::milliseconds patience);

 private:
  struct Watched {
    c10::intrusive_ptr<Work> work;  // null until add()
    std::size_t requests = 0;
    std::size_t ended = 0;
  };

  void run();
  void run_callbacks(Work& work, std::unique_lock<std::mutex>& lead);
  void sleep();
  bool is_stopping();
  void start_thread();
  c10::intrusive_ptr<Work> next_complete();
  c10::intrusive_ptr<Work> count(std::uint64_t token, std::size_t ended, std::size_t requests,
                                 const c10::intrusive_ptr<Work>& work);
  void wake() const;

  std::shared_ptr<Job> job_;
  lacuna_communicator* communicator_;
  int wake_;                       // an eventfd
  std::mutex lead_;                // one thread has it and moves messages
  std::atomic<int> followers_{0};  // threads that wait for it
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::unordered_map<std::uint64_t, Watched> watched_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lacuna_c10d
