#include "bindings/checkpoint/sealed_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>

#include "bindings/checkpoint/files.hpp"
#include "runtime/files/regular_file.hpp"

namespace lacuna::checkpoint {
namespace {

constexpr std::string_view first_line = "lacuna-sealed 1\n", sum_word = "sha256 ", open_word = "except ";
constexpr std::size_t sum_digits = 64, smallest_block = 512;

std::string lines_of(std::span<const Stretch> open) {
  std::string lines;
  for (const Stretch& one : open) lines += fmt::format("{}{} {}\n", open_word, one.begin, one.length);
  return lines;
}

/// Returns the digest of these lines and of the image without the stretches.
Result<std::string> sum_of_sealed(std::string_view lines, std::span<const std::byte> image,
                                  std::span<const Stretch> open) {
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(lines))};
  std::uint64_t begin = 0;
  for (const Stretch& one : open) {
    pieces.push_back(image.subspan(begin, one.begin - begin));
    begin = one.begin + one.length;
  }
  pieces.push_back(image.subspan(begin));
  return sha256_of(pieces);
}

/// What a seal says.
struct Seal {
  std::size_t bytes = 0;  ///< its own length
  std::string_view sum, lines{};
  std::vector<Stretch> open{};
};

/// Reads a number that one character follows, and takes both off the text.
std::optional<std::uint64_t> take_number(std::string_view& text, char follows) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != follows) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return number;
}

/// Reads the seal of a file. Nothing if it is not well-formed, or if a stretch does not lie in the file.
std::optional<Seal> seal_of(std::string_view file) {
  std::string_view text = file.substr(first_line.size());
  if (!text.starts_with(sum_word)) return std::nullopt;
  text.remove_prefix(sum_word.size());
  if (text.size() <= sum_digits || text[sum_digits] != '\n') return std::nullopt;
  Seal seal{.sum = text.substr(0, sum_digits)};
  text.remove_prefix(sum_digits + 1);
  const std::string_view begin = text;
  while (text.starts_with(open_word)) {
    text.remove_prefix(open_word.size());
    const auto from = take_number(text, ' ');
    const auto length = from ? take_number(text, '\n') : std::nullopt;
    if (!length) return std::nullopt;
    seal.open.push_back({*from, *length});
  }
  seal.lines = begin.substr(0, begin.size() - text.size());
  seal.bytes = seal_bytes(seal.open);
  std::uint64_t end = 0;
  for (const Stretch& one : seal.open) {
    if (one.begin < end || one.length > file.size() || one.begin > file.size()) return std::nullopt;
    end = one.begin + one.length;
  }
  if (seal.bytes > file.size() || end > file.size() - seal.bytes) return std::nullopt;
  return seal;
}

}  // namespace

std::size_t seal_bytes(std::span<const Stretch> open) {
  const std::size_t text = first_line.size() + sum_word.size() + sum_digits + 1 + lines_of(open).size();
  std::size_t block = smallest_block;
  while (block < text) block *= 2;
  return block;
}

Status replace_sealed(const std::filesystem::path& path, std::span<const std::byte> image,
                      std::span<const Stretch> open) {
  const std::string lines = lines_of(open);
  const Result<std::string> sum = sum_of_sealed(lines, image, open);
  if (!sum) return sum.status();
  std::string block = fmt::format("{}{}{}\n{}", first_line, sum_word, *sum, lines);
  block.resize(seal_bytes(open));
  return replace_file(path, image, block);
}

Result<std::string> read_sealed(const std::filesystem::path& path, std::string_view kind) {
  const Result<runtime::Fd> opened = open_regular(path, Links::Refused);
  if (!opened) return opened.status();
  std::array<char, first_line.size()> head{};
  const bool begins = ::pread(opened->get(), head.data(), head.size(), 0) == std::ssize(head);
  if (!begins || std::string_view(head.data(), head.size()) != first_line) {  // a file of another kind may be large
    return Status(Code::Io, fmt::format("{}: this is not {}, or it is of an earlier lacuna, which wrote no digest",
                                        path.string(), kind));
  }
  Result<std::string> file = read_regular(path, Links::Refused);
  if (!file) return file;
  const Status damaged(Code::Io,
                       fmt::format("{} is damaged: it does not have the SHA-256 that it begins with", path.string()));
  const std::optional<Seal> seal = seal_of(*file);
  if (!seal) return damaged;
  const Result<std::string> sum =
      sum_of_sealed(seal->lines, std::as_bytes(std::span(*file)).subspan(seal->bytes), seal->open);
  if (!sum) return sum.status();
  if (*sum != seal->sum) return damaged;
  file->erase(0, seal->bytes);
  return file;
}

}  // namespace lacuna::checkpoint
