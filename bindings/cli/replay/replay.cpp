#include "bindings/cli/replay/replay.hpp"

#include <fmt/format.h>

#include <utility>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/replay/method.hpp"
#include "bindings/cli/replay/recording.hpp"
#include "bindings/cli/replay/report.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cpp/agree.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {
namespace {

constexpr const char* no_method = "dense";
constexpr char algorithm_mark = '@';

Status check_writable_all(const ReplayOptions& options) {
  if (Status writable = check_writable(json_path(options)); !writable) return writable;
  return options.plot.empty() ? Status::ok() : check_writable(options.plot);
}

Result<std::vector<ReplayedMethod>> make_methods(const ReplayOptions& options, const Communicator& communicator,
                                                 const Recording& recording) {
  std::vector<ReplayedMethod> methods;
  for (const ReplayChoice& choice : options.methods) {
    ReplayedMethod& method = methods.emplace_back(choice, options, recording);
    if (Status served = method.check(communicator); !served) return served;
  }
  return methods;
}

Status replay_steps(Communicator& communicator, Recording& recording, std::vector<ReplayedMethod>& methods) {
  ExactSums exact(recording.tensors());
  for (std::size_t step = 0; step < recording.steps().size(); ++step) {
    if (Status read = recording.read(step); !read) return read;
    if (Status summed = exact.add(communicator, recording.tensors()); !summed) return summed;
    for (ReplayedMethod& method : methods) {
      if (Status done = method.step(communicator, exact); !done) return done;
    }
  }
  return Status::ok();
}

Status report(const ReplayOptions& options, const Communicator& communicator, const Recording& recording,
              const std::vector<ReplayedMethod>& methods) {
  write_out("{}\nresults: {}\n", replay_table(methods), json_path(options).string());
  if (Status written = write_replay_json(options, communicator, recording, methods); !written) return written;
  if (options.plot.empty()) return Status::ok();
  write_out("picture: {}\n", options.plot.string());
  return write_replay_plot(options, recording, methods);
}

Status replay(Communicator& communicator, const ReplayOptions& options) {
  const bool first = communicator.rank() == 0;
  if (Status writable = agree(communicator, first ? check_writable_all(options) : Status::ok()); !writable) {
    return writable;
  }
  Result<Recording> recording = Recording::open(communicator, options.file);
  if (!recording) return recording.status();
  Result<std::vector<ReplayedMethod>> methods = make_methods(options, communicator, *recording);
  if (!methods) return methods.status();
  if (first) {
    write_out("{}: {} of {} with {}, {}\n\n", options.file.string(), count_of(recording->steps().size(), "step"),
              count_of(recording->tensors().size(), "tensor"), count_of(recording->elements(), "element"),
              count_of(communicator.size(), "rank"));
    flush_output();
  }
  if (Status done = replay_steps(communicator, *recording, *methods); !done) return done;
  return agree(communicator, first ? report(options, communicator, *recording, *methods) : Status::ok());
}

}  // namespace

Result<ReplayChoice> replay_choice(const std::string& text) {
  const std::size_t at = text.rfind(algorithm_mark);
  const std::string method = text.substr(0, at);
  ReplayChoice choice{.label = method};
  if (method != no_method) {
    Result<MethodOptions> made = method_options(method);
    if (!made) return made.status();
    choice.label = made->text();
    choice.options = *std::move(made);
  }
  if (at == std::string::npos) return choice;
  choice.algorithm = text.substr(at + 1);
  if (choice.algorithm.empty())
    return Status(Code::InvalidArgument, fmt::format("{}: no algorithm behind the @", text));
  choice.label += algorithm_mark + choice.algorithm;
  return choice;
}

std::filesystem::path json_path(const ReplayOptions& options) {
  if (!options.json.empty()) return options.json;
  return options.file.parent_path() / (options.file.stem().string() + "-replay.json");
}

int replay_command(const ReplayOptions& options) {
  Result<Communicator> world = Communicator::world();
  const Status status = world ? replay(*world, options) : world.status();
  if (status) return 0;
  // Rank 0 says for all what any rank has found. The end of the communicator each rank says itself.
  if (!world || world->rank() == 0 || !world->status()) write_error("lacuna replay: {}\n", status.message());
  return 1;
}

}  // namespace lacuna::cli
