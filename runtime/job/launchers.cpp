#include "runtime/job/launchers.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
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

// The first launcher that announces ranks gives the example. Their order matters, because other launchers may start
// torchrun, and Open MPI's mpirun sets the variables of PMIx too.
constexpr std::array launchers = {
    Launcher{"torchrun --no-python", "RANK", "WORLD_SIZE"},
    Launcher{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Launcher{"mpirun", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    Launcher{"mpiexec", "PMI_RANK", "PMI_SIZE"},
    Launcher{"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
    Launcher{"flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    Launcher{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    Launcher{"prterun", "PMIX_RANK", ""},
    Launcher{"mpiexec", "PALS_RANKID", ""},
};

std::string_view variable(std::string_view name) {
  const char* text = name.empty() ? nullptr : std::getenv(std::string(name).c_str());
  return text == nullptr ? std::string_view() : std::string_view(text);
}

/// The number in a variable, which may have blanks around it. 0 if the variable is not set or no number.
long number(std::string_view name) {
  constexpr std::string_view blanks = " \t\r\n";
  std::string_view text = variable(name);
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  text = text.substr(0, text.find_last_not_of(blanks) + 1);
  long value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() ? value : 0;
}

bool announces_ranks(const Launcher& launcher) {
  return launcher.size.empty() ? number(launcher.rank) > 0 : number(launcher.size) > 1;
}

/// Does any launcher say how many ranks there are?
bool is_size_told() {
  return std::any_of(launchers.begin(), launchers.end(), [](const Launcher& one) { return number(one.size) > 0; });
}

/// Warns if a launcher may have announced ranks, but does not say clearly how many.
void warn_of_unclear() {
  constexpr std::string_view alone =
      "this process works alone, as a job of one rank; if others were started with it, hand LACUNA_RANK and "
      "LACUNA_SIZE on to all, else set LACUNA_SIZE=1";
  for (const Launcher& launcher : launchers) {
    const std::string_view size = variable(launcher.size), rank = variable(launcher.rank);
    if (!size.empty() && number(launcher.size) < 1) {
      log_warning(Subsystem::Job, "{} is '{}', which is no number of ranks: {}", launcher.size, size, alone);
    }
    if (launcher.size.empty() && !rank.empty() && !is_size_told()) {
      log_warning(Subsystem::Job, "{} is '{}', as a launcher sets it, and nothing says how many ranks there are: {}",
                  launcher.rank, rank, alone);
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

constexpr long last_port = 65535;

/// Has torchrun told where its own store is?
std::optional<Launched> find_torchrun() {
  const long rank = number("RANK"), size = number("WORLD_SIZE"), port = number("MASTER_PORT") + 1;
  const std::string_view host = variable("MASTER_ADDR");
  if (size < 2 || rank < 0 || rank >= size || host.empty() || port < 2 || port > last_port) return {};
  const bool is_bare_six = host.find(':') != std::string_view::npos && host.front() != '[';
  const std::string store = is_bare_six ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
  return Launched{.by = fmt::format("torchrun (RANK={}, WORLD_SIZE={}, MASTER_ADDR={}, MASTER_PORT={})", rank, size,
                                    host, port - 1),
                  .rank = static_cast<Rank>(rank),
                  .size = static_cast<Rank>(size),
                  .store = store,
                  .key = fmt::format("torchrun {} {} {} {}", variable("TORCHELASTIC_RUN_ID"),
                                     variable("TORCHELASTIC_RESTART_COUNT"), store, size)};
}

/// Is there a launcher that speaks PMIx?
Result<std::optional<Launched>> find_pmix() {
  if (variable("PMIX_NAMESPACE").empty() || variable("PMIX_RANK").empty()) return std::optional<Launched>();
  const auto place = place_by_pmix();
  if (!place) return place.status();
  if (place->size < 2) return std::optional<Launched>();
  return std::optional(Launched{
      .by = fmt::format("PMIx (PMIX_NAMESPACE={}, PMIX_RANK={})", variable("PMIX_NAMESPACE"), variable("PMIX_RANK")),
      .rank = place->rank,
      .size = place->size,
      .share = share_by_pmix});
}

/// Has this program MPI? It needs the only descriptor by which a launcher speaks PMI-1.
bool has_mpi() { return ::dlsym(RTLD_DEFAULT, "MPI_Init") != nullptr; }

/// Is there a launcher that speaks PMI-1?
std::optional<Launched> find_pmi() {
  const long rank = number("PMI_RANK"), size = number("PMI_SIZE"), descriptor = number("PMI_FD");
  if (size < 2 || rank < 0 || rank >= size || descriptor < 1) return {};
  return Launched{.by = fmt::format("PMI-1 (PMI_FD={}, PMI_RANK={}, PMI_SIZE={})", descriptor, rank, size),
                  .rank = static_cast<Rank>(rank),
                  .size = static_cast<Rank>(size),
                  .share = [=](const std::string& text) {
                    return share_by_pmi(static_cast<int>(descriptor), static_cast<Rank>(rank), text);
                  }};
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
      if (!variable(name).empty()) seen += fmt::format("{}{}={}", seen.empty() ? "" : ", ", name, variable(name));
    }
  }
  if (first == nullptr) {
    warn_of_unclear();
    return std::optional<Launched>();
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
