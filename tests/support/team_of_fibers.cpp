#undef _FORTIFY_SOURCE  // its longjmp() refuses to change stacks

#include "tests/support/team_of_fibers.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

namespace lacuna::test {
namespace {

constexpr std::size_t most_threads = 6;  // neither a power of two nor a divisor of usual lengths
constexpr std::size_t stack_bytes = 512 * 1024;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t team = 1;
#else
constexpr std::size_t team = most_threads;
#endif

enum class State { Runs, Waits, Ended };

struct Fiber {
  std::unique_ptr<char[]> stack{new char[stack_bytes]};  // without content: the system gives the pages that are used
  jmp_buf here;                                          // where it goes on
  bool is_there = false;                                 // it has begun once
  State state = State::Ended;
};

struct Team {
  std::array<Fiber, team> fibers;
  jmp_buf scheduler;
  TeamOfFibers::Body* body = nullptr;
  const void* on = nullptr;
  std::size_t current = 0;
  std::vector<std::byte> scratch;
};

Team& own_team() {
  static thread_local const auto all = std::make_unique<Team>();
  return *all;
}

// Fibers change by _setjmp() and _longjmp(), because swapcontext() asks the system for the signal mask each time. These
// functions have no variables that such a jump could leave undefined.

__attribute__((noinline)) void leave(Team& all, Fiber& fiber, State state) {
  fiber.state = state;
  if (_setjmp(fiber.here) == 0) _longjmp(all.scheduler, 1);
}

void work() {
  for (;;) {
    Team& all = own_team();
    all.body(all.on, all.current);
    leave(all, all.fibers[all.current], State::Ended);
  }
}

void begin(Fiber& fiber) {
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = stack_bytes;
  context.uc_link = nullptr;
  makecontext(&context, work, 0);
  fiber.is_there = true;
  setcontext(&context);
}

/// Returns once the fiber waits or has ended.
__attribute__((noinline)) void enter(Team& all, std::size_t thread) {
  if (_setjmp(all.scheduler) != 0) return;
  all.current = thread;
  Fiber& fiber = all.fibers[thread];
  fiber.state = State::Runs;
  if (fiber.is_there) _longjmp(fiber.here, 1);
  begin(fiber);
}

}  // namespace

std::byte* TeamOfFibers::scratch(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  std::vector<std::byte>& memory = own_team().scratch;
  memory.resize(std::max(memory.size(), bytes + alignment));
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(memory.data()) % alignment;
  return memory.data() + (alignment - beyond) % alignment;
}

std::size_t TeamOfFibers::threads() { return team; }

std::size_t TeamOfFibers::draw(std::size_t bound) {
  static thread_local std::minstd_rand random;
  return random() % bound;
}

void TeamOfFibers::run(Body* body, const void* on) {
  if (team == 1) return body(on, 0);
  Team& all = own_team();
  all.body = body;
  all.on = on;
  std::array<std::size_t, team> order;
  for (std::size_t i = 0; i < team; ++i) order[i] = i;
  for (std::size_t ended = 0; ended == 0;) {
    for (std::size_t i = team; i > 1; --i) std::swap(order[i - 1], order[draw(i)]);
    for (const std::size_t thread : order) enter(all, thread);
    ended = static_cast<std::size_t>(std::count_if(all.fibers.begin(), all.fibers.end(),
                                                   [](const Fiber& fiber) { return fiber.state == State::Ended; }));
    if (ended == 0 || ended == team) continue;
    std::fprintf(stderr, "%zu of %zu threads of a team have ended, and the others wait at a barrier\n", ended, team);
    std::abort();
  }
}

void TeamOfFibers::barrier() {
  if (team == 1) return;
  Team& all = own_team();
  leave(all, all.fibers[all.current], State::Waits);
}

}  // namespace lacuna::test
