#include "bindings/cli/launch/binding.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fstream>
#include <tuple>

namespace lacuna::cli {
namespace {

constexpr std::size_t bits_of_word = CHAR_BIT * sizeof(unsigned long);

/// A set of processors as the system takes it, which has room for so many of them.
class ProcessorSet {
 public:
  explicit ProcessorSet(std::size_t processors) : words_((processors + bits_of_word - 1) / bits_of_word) {}

  cpu_set_t* data() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
  std::size_t bytes() const { return words_.size() * sizeof(unsigned long); }
  std::size_t room() const { return words_.size() * bits_of_word; }
  bool has(std::size_t processor) const {
    return (words_[processor / bits_of_word] >> processor % bits_of_word & 1) != 0;
  }
  void add(std::size_t processor) { words_[processor / bits_of_word] |= 1UL << processor % bits_of_word; }

 private:
  std::vector<unsigned long> words_;
};

bool run_on(const Processors& processors) {
  if (processors.empty()) return false;
  const auto last = static_cast<std::size_t>(*std::max_element(processors.begin(), processors.end()));
  ProcessorSet set(last + 1);
  for (int processor : processors) set.add(static_cast<std::size_t>(processor));
  return ::sched_setaffinity(0, set.bytes(), set.data()) == 0;
}

/// A core by its numbers: package, core, and the processor if the system tells nothing else.
using CoreName = std::tuple<int, int, int>;

CoreName core_of(int processor, const std::filesystem::path& root) {
  const auto folder = root / ("cpu" + std::to_string(processor)) / "topology";
  int package = 0, core = 0;
  std::ifstream(folder / "physical_package_id") >> package;
  if (!(std::ifstream(folder / "core_id") >> core)) return {package, 0, processor};
  return {package, core, -1};
}

/// The part of `all` for rank `rank` of `ranks`. Parts differ by one at most in length.
Processors part_of(const std::vector<Processors>& all, std::size_t rank, std::size_t ranks) {
  Processors part;
  for (std::size_t i = rank * all.size() / ranks; i < (rank + 1) * all.size() / ranks; ++i) {
    part.insert(part.end(), all[i].begin(), all[i].end());
  }
  return part;
}

}  // namespace

Processors processors_of_thread() {
  for (std::size_t room = 1024;; room *= 2) {  // the system refuses a set that is shorter than its own
    ProcessorSet set(room);
    if (::sched_getaffinity(0, set.bytes(), set.data()) != 0) {
      if (errno == EINVAL && room < (std::size_t{1} << 20)) continue;
      return {};
    }
    Processors processors;
    for (std::size_t processor = 0; processor < set.room(); ++processor) {
      if (set.has(processor)) processors.push_back(static_cast<int>(processor));
    }
    return processors;
  }
}

std::vector<Processors> cores_of(const Processors& processors, const std::filesystem::path& root) {
  std::vector<std::pair<CoreName, int>> named;
  for (int processor : processors) named.emplace_back(core_of(processor, root), processor);
  std::sort(named.begin(), named.end());
  std::vector<Processors> cores;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (i == 0 || named[i].first != named[i - 1].first) cores.emplace_back();
    cores.back().push_back(named[i].second);
  }
  return cores;
}

std::vector<Processors> shares_of(const std::vector<Processors>& cores, int ranks) {
  const auto wanted = static_cast<std::size_t>(ranks);
  std::vector<Processors> units = cores;
  if (units.size() < wanted) {
    units.clear();
    for (const Processors& core : cores) {
      for (int processor : core) units.push_back({processor});
    }
  }
  if (units.size() < wanted) return {};
  std::vector<Processors> shares;
  for (std::size_t rank = 0; rank < wanted; ++rank) shares.push_back(part_of(units, rank, wanted));
  return shares;
}

BoundTo::BoundTo(const Processors& processors) : before_(processors_of_thread()), is_bound_(run_on(processors)) {}

BoundTo::~BoundTo() {
  if (is_bound_) run_on(before_);
}

}  // namespace lacuna::cli
