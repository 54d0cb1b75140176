#include "bindings/cli/shared/text_table.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace lacuna::cli {
namespace {

constexpr std::size_t least_wrapped = 20;

/// Cuts off the first line: as many words as fit, but at least one.
std::string_view take_line(std::string_view& text, std::size_t width) {
  std::size_t end = text.size();
  if (end > width) {
    end = text.rfind(' ', width);
    if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::size_t terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return no_width;
  }
  return size.ws_col;
}

std::string text_table(const std::vector<std::vector<std::string>>& rows, std::size_t width) {
  std::vector<std::size_t> widths(rows.front().size() - 1);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::size_t indent = 0;
  for (const std::size_t column : widths) indent += column + 2;
  const std::size_t room = std::max(width - std::min(width, indent), least_wrapped);
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) text += fmt::format("{:<{}}  ", row[i], widths[i]);
    std::string_view last = row.back();
    text += take_line(last, room);
    while (!last.empty()) text += fmt::format("\n{:<{}}{}", "", indent, take_line(last, room));
    text += '\n';
  }
  return text;
}

}  // namespace lacuna::cli
