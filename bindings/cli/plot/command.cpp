#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "bindings/cli/commands.hpp"
#include "bindings/cli/plot/plot.hpp"
#include "bindings/cli/shared/command_options.hpp"
#include "bindings/cli/shared/output.hpp"
#include "runtime/files/output_folder.hpp"

namespace lacuna::cli {
namespace {

int plot(const std::filesystem::path& file, std::filesystem::path picture) {
  const auto results = checkpoint::read_results(file);
  if (!results) return fail(results.status());
  if (picture.empty()) picture = std::filesystem::path(file).replace_extension(".svg");
  const std::string svg = plot_of(*results, file.stem().string());
  const Status written = write_whole(picture, [&](std::FILE* out) {
    put(out, svg);
    return Status::ok();
  });
  if (!written) return fail(written);
  write_out("{}\n", picture.string());
  return 0;
}

}  // namespace

void add_plot(CLI::App& app, int& exit_code) {
  auto file = std::make_shared<std::string>(), picture = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "plot", "draw accuracy and loss of a run against seconds and bytes, and the share of waiting, as an SVG picture");
  command->add_option("results", *file, "the result file of `lacuna run`")->required()->type_name("FILE");
  command->add_option("-o,--output", *picture, "the picture; by default it lies beside the results")->type_name("FILE");
  command->callback([=, &exit_code] { exit_code = plot(*file, *picture); });
}

}  // namespace lacuna::cli
