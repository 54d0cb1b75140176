#include "runtime/job/launchers.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "runtime/job/pmi.hpp"
#include "runtime/job/pmix.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna::runtime {
namespace {

/// The variables by which a launcher tells a process its place.
struct Launcher {
  std::string_view command;  ///< its command, for the example in the error
  std::string_view rank;
  std::string_view size;  ///< empty if it does not tell the size: then a rank above 0 announces other ranks
};

constexpr std::string_view slurm_rank = "SLURM_PROCID";

// The first launcher that announces ranks counts. Their order matters, because other launchers may start torchrun, srun
// may start other launchers, and Open MPI's mpirun sets the variables of PMIx too.
constexpr std::array launchers = {
    Launcher{"torchrun --no-python", "RANK", "WORLD_SIZE"},
    Launcher{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Launcher{"mpirun", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    Launcher{"mpiexec", "PMI_RANK", "PMI_SIZE"},
    Launcher{"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
    Launcher{"flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    Launcher{"prterun", "PMIX_RANK", ""},
    Launcher{"mpiexec", "PALS_RANKID", ""},
    Launcher{"srun", slurm_rank, "SLURM_STEP_NUM_TASKS"},
};

std::string_view value_of(std::string_view name) {
  const char* text = name.empty() ? nullptr : std::getenv(std::string(name).c_str());
  return text == nullptr ? std::string_view() : std::string_view(text);
}

/// The number in a variable, which may have blanks around it. Nothing if the variable is not set or no number.
std::optional<long> number(std::string_view name) {
  constexpr std::string_view blanks = " \t\r\n";
  std::string_view text = value_of(name);
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  text = text.substr(0, text.find_last_not_of(blanks) + 1);
  long value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return {};
  return value;
}

bool announces_ranks(const Launcher& launcher) {
  return launcher.size.empty() ? number(launcher.rank) > 0 : number(launcher.size) > 1;
}

/// A place in a job of several ranks.
struct Place {
  Rank rank, size;
};

/// The place that two variables tell. Nothing if they tell no place among several ranks.
std::optional<Place> place_of(std::string_view rank_name, std::string_view size_name) {
  const auto rank = number(rank_name), size = number(size_name);
  if (!rank || !size || *size < 2 || *rank < 0 || *rank >= *size || *size > std::numeric_limits<Rank>::max()) return {};
  return Place{static_cast<Rank>(*rank), static_cast<Rank>(*size)};
}

/// A text such as "RANK=1, WORLD_SIZE=4".
std::string shown(std::initializer_list<std::string_view> names) {
  std::vector<std::string> texts;
  for (std::string_view name : names) texts.push_back(fmt::format("{}={}", name, value_of(name)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Does any launcher say how many ranks there are?
bool is_size_told() {
  return std::any_of(launchers.begin(), launchers.end(), [](const Launcher& one) { return number(one.size) > 0; });
}

/// Warns if a launcher may have announced ranks, but does not say clearly how many. `pmix` says why PMIx has not told
/// it.
void warn_of_unclear(const Status& pmix) {
  constexpr std::string_view alone =
      "this process works alone, as a job of one rank; if others were started with it, hand LACUNA_RANK and "
      "LACUNA_SIZE on to all, else set LACUNA_SIZE=1";
  for (const Launcher& launcher : launchers) {
    const std::string_view size = value_of(launcher.size), rank = value_of(launcher.rank);
    if (!size.empty() && number(launcher.size).value_or(0) < 1) {
      log_warning(Subsystem::Job, "{} is '{}', which is no number of ranks: {}", launcher.size, size, alone);
    }
    if (launcher.size.empty() && !rank.empty() && !is_size_told()) {
      log_warning(Subsystem::Job, "{} is '{}', as a launcher sets it, and nothing says how many ranks there are{}: {}",
                  launcher.rank, rank, pmix ? "" : fmt::format(" ({})", pmix.message()), alone);
    }
  }
}

std::string example(const Launcher& launcher) {
  const std::string size = launcher.size.empty() ? "N" : fmt::format("${}", launcher.size);
  return fmt::format(
      "{} ... sh -c 'LACUNA_RANK=${} LACUNA_SIZE={} LACUNA_STORE=HOST-OF-RANK-0:29400 exec ./program', with a "
      "LACUNA_KEY of your own exported before",
      launcher.command, launcher.rank, size);
}

/// Has torchrun told where its own store is? Other jobs often have the ports next to it, so the store is far from
/// there.
std::optional<Launched> find_torchrun() {
  constexpr long last_port = 65535, away = 1000;
  const auto place = place_of("RANK", "WORLD_SIZE");
  const auto port = number("MASTER_PORT");
  const std::string_view host = value_of("MASTER_ADDR"), run = value_of("TORCHELASTIC_RUN_ID");
  if (!place || host.empty() || !port || *port < 1 || *port > last_port) return {};
  const long own_port = *port + away <= last_port ? *port + away : *port - away;
  const bool is_bare_six = host.find(':') != std::string_view::npos && host.front() != '[';
  const std::string store = fmt::format("{}{}{}:{}", is_bare_six ? "[" : "", host, is_bare_six ? "]" : "", own_port);
  const bool has_secret = !run.empty() && run != "none";  // torchrun's own word for none
  return Launched{.by = fmt::format("torchrun ({})", shown({"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})),
                  .rank = place->rank,
                  .size = place->size,
                  .store = store,
                  .key = has_secret ? fmt::format("torchrun {} {} {}", run, store, place->size) : std::string()};
}

/// Is there a launcher that speaks PMIx, with several ranks?
Result<std::optional<Launched>> find_pmix() {
  if (value_of("PMIX_NAMESPACE").empty() || value_of("PMIX_RANK").empty()) return std::optional<Launched>();
  if (number("OMPI_COMM_WORLD_SIZE") == 1) return std::optional<Launched>();  // and no need to connect
  const auto place = place_by_pmix();
  if (!place) return place.status();
  if (place->size < 2) return std::optional<Launched>();
  return std::optional(Launched{.by = fmt::format("PMIx ({})", shown({"PMIX_NAMESPACE", "PMIX_RANK"})),
                                .rank = place->rank,
                                .size = place->size,
                                .share = share_by_pmix});
}

/// Has this program MPI? It needs the only descriptor by which a launcher speaks PMI-1. A library that was loaded for
/// itself, as Python does it, shows no names to others.
bool has_mpi() {
  if (::dlsym(RTLD_DEFAULT, "MPI_Init") != nullptr) return true;
  for (const char* library : {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12"}) {
    if (void* found = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD)) return ::dlclose(found), true;
  }
  return false;
}

/// Is there a launcher that speaks PMI-1, with several ranks?
std::optional<Launched> find_pmi() {
  const auto place = place_of("PMI_RANK", "PMI_SIZE");
  const long descriptor = number("PMI_FD").value_or(0);
  if (!place || descriptor < 1 || descriptor > std::numeric_limits<int>::max()) return {};
  const auto share = [rank = place->rank, descriptor](UniqueId& id, const Deadline& deadline) {
    static Pmi conversation(static_cast<int>(descriptor));
    return conversation.share(rank, id, deadline);
  };
  return Launched{.by = fmt::format("PMI-1 ({})", shown({"PMI_FD", "PMI_RANK", "PMI_SIZE"})),
                  .rank = place->rank,
                  .size = place->size,
                  .share = share};
}

/// The first host of a list such as "node[07-09,12],gpu1".
std::string first_host(std::string_view list) {
  const std::string_view head = list.substr(0, list.find_first_of(",["));
  if (head.size() == list.size() || list[head.size()] == ',') return std::string(head);
  const std::string_view numbers = list.substr(head.size() + 1);
  const std::size_t end = list.find(']');
  if (end == std::string_view::npos) return {};
  const std::string_view tail = list.substr(end + 1);
  return fmt::format("{}{}{}", head, numbers.substr(0, numbers.find_first_of("-,]")), tail.substr(0, tail.find(',')));
}

/// Has Slurm told the hosts of a step with several ranks? Its jobs choose a port by their number, so that two of them
/// seldom choose the same one.
std::optional<Launched> find_slurm() {
  constexpr long first_port = 20000, ports = 10000, steps = 16;  // below those that systems choose by themselves
  const auto place = place_of(slurm_rank, "SLURM_STEP_NUM_TASKS");
  const auto job = number("SLURM_JOB_ID"), step = number("SLURM_STEP_ID");
  const bool is_one_host = number("SLURM_STEP_NUM_NODES") == 1;
  const std::string host = is_one_host ? "127.0.0.1" : first_host(value_of("SLURM_STEP_NODELIST"));
  if (!place || !job || *job < 0 || !step || *step < 0 || host.empty()) return {};
  return Launched{
      .by = fmt::format("Slurm ({})", shown({"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST"})),
      .rank = place->rank,
      .size = place->size,
      .store = fmt::format("{}:{}", host, first_port + (*job % ports * steps + *step % steps) % ports)};
}

}  // namespace

Result<std::optional<Launched>> find_launcher() {
  if (auto torchrun = find_torchrun()) return torchrun;
  const auto by_pmix = find_pmix();
  if (by_pmix && *by_pmix) return by_pmix;
  auto pmi = find_pmi();
  if (pmi && !has_mpi()) return pmi;
  const Launcher* first = nullptr;
  std::string seen;
  for (const Launcher& launcher : launchers) {
    if (!announces_ranks(launcher)) continue;
    if (first == nullptr) first = &launcher;
    for (std::string_view name : {launcher.size, launcher.rank}) {
      if (!value_of(name).empty()) seen += fmt::format("{}{}={}", seen.empty() ? "" : ", ", name, value_of(name));
    }
  }
  if (first == nullptr) {
    warn_of_unclear(by_pmix.status());
    return std::optional<Launched>();
  }
  if (first->rank == slurm_rank) {  // srun may have started other launchers, whose ranks Slurm does not know
    if (auto slurm = find_slurm()) return slurm;
  }
  std::string why = by_pmix ? "" : fmt::format(" ({})", by_pmix.status().message());
  if (pmi) why = " (PMI-1 is for the MPI of this program; join by the broadcast of the world's options and MPI_Bcast)";
  return Status(Code::InvalidArgument,
                fmt::format("a launcher announces several ranks ({}), but LACUNA_RANK and LACUNA_SIZE are not set, and "
                            "it tells no way by which the ranks find each other{}, so that each would work alone; hand "
                            "them on: {}; or set LACUNA_SIZE=1 if each is to be a job of its own",
                            seen, why, example(*first)));
}

}  // namespace lacuna::runtime
