#include "runtime/job/admission.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <climits>

namespace lacuna::runtime::admission {

namespace {

constexpr std::uint64_t magic = 0x3130414e5543414c;  // LACUNA01

void send(Channel& channel, Say kind, const Encoder& body) {
  channel.send(static_cast<std::uint8_t>(kind), body.bytes());
}

bool is(const Frame& frame, Say kind) { return frame.kind == static_cast<std::uint8_t>(kind); }

/// Reads a field of fixed size. It travels as a byte string, whose length is checked.
template <std::size_t Size>
bool get(Decoder& decoder, std::array<std::byte, Size>& field) {
  const std::vector<std::byte> bytes = decoder.bytes(Size);
  if (bytes.size() != Size) return false;
  std::copy(bytes.begin(), bytes.end(), field.begin());
  return true;
}

unsigned char* as_uchar(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* as_uchar(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

}  // namespace

bool fill_random(std::span<std::byte> bytes) {
  return RAND_bytes(as_uchar(bytes.data()), static_cast<int>(bytes.size())) == 1;
}

Result<Proof> prove(std::string_view key, Speaker speaker, const Nonce& store, const Claim& claim) {
  Encoder said;
  said.put(std::string_view(speaker == Speaker::Store ? "lacuna store" : "lacuna guest"));
  said.put(std::span<const std::byte>(store)).put(std::span<const std::byte>(claim.nonce));
  said.put(claim.version).put(claim.rank).put(claim.size);
  Proof proof{};
  unsigned int bytes = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(), key.data() != nullptr ? key.data() : "", static_cast<int>(key.size()),
           as_uchar(said.bytes().data()), said.bytes().size(), as_uchar(proof.data()), &bytes);
  if (made != nullptr && bytes == proof.size()) return proof;
  return Status(Code::Internal,
                "OpenSSL computes no HMAC-SHA256, by which ranks prove that they hold the job's key "
                "(see its configuration, OPENSSL_CONF)");
}

bool matches(const Proof& a, const Proof& b) { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

void send(Channel& channel, const Hello& hello) {
  send(channel, Say::Hello, Encoder().put(magic).put(std::span<const std::byte>(hello.nonce)));
}

void send(Channel& channel, const Claim& claim) {
  Encoder body;
  body.put(magic).put(claim.version).put(claim.rank).put(claim.size);
  body.put(std::span<const std::byte>(claim.nonce)).put(std::span<const std::byte>(claim.proof));
  send(channel, Say::Claim, body);
}

void send(Channel& channel, const Proof& admitted) {
  send(channel, Say::Admitted, Encoder().put(std::span<const std::byte>(admitted)));
}

void send(Channel& channel, const Status& refused) {
  Encoder body;
  body.put(static_cast<std::int32_t>(refused.code())).put(refused.message().substr(0, longest_text));
  send(channel, Say::Refused, body);
}

void send(Channel& channel, const Card& card) {
  Encoder body;
  body.put(std::string_view(card.host)).put(card.machine).put(card.reach);
  body.put(static_cast<std::int64_t>(card.left.count()));
  send(channel, Say::Card, body);
}

void send(Channel& channel, const Address& address) {
  send(channel, Say::Address, Encoder().put(std::span<const std::byte>(address.bytes)));
}

SharedFrame share(const Roster& roster) {
  Encoder body;
  body.put(roster.nonce).put(static_cast<std::int64_t>(roster.silence.count()));
  body.put(static_cast<std::uint8_t>(roster.on_one_host)).put(static_cast<std::uint8_t>(roster.shares_memory));
  body.put(std::span<const std::byte>(roster.offer));
  for (const std::string& host : roster.hosts) body.put(std::string_view(host));
  for (std::uint64_t machine : roster.machines) body.put(machine);
  return share_frame(static_cast<std::uint8_t>(Say::Roster), body.bytes());
}

SharedFrame share(const Table& table) {
  Encoder body;
  for (const auto& address : table.addresses) body.put(std::span<const std::byte>(address));
  return share_frame(static_cast<std::uint8_t>(Say::Table), body.bytes());
}

std::optional<Hello> read_hello(const Frame& frame) {
  Decoder body(frame.body);
  Hello hello;
  if (!is(frame, Say::Hello) || body.get<std::uint64_t>() != magic) return std::nullopt;
  if (!get(body, hello.nonce) || !body.complete()) return std::nullopt;
  return hello;
}

std::optional<Claim> read_claim(const Frame& frame) {
  Decoder body(frame.body);
  Claim claim;
  if (!is(frame, Say::Claim) || body.get<std::uint64_t>() != magic) return std::nullopt;
  claim.version = body.get<std::uint32_t>();
  if (claim.version != protocol_version) return claim;
  claim.rank = body.get<Rank>();
  claim.size = body.get<Rank>();
  if (!get(body, claim.nonce) || !get(body, claim.proof) || !body.complete()) return std::nullopt;
  return claim;
}

std::optional<Proof> read_admitted(const Frame& frame) {
  Decoder body(frame.body);
  Proof proof{};
  if (!is(frame, Say::Admitted) || !get(body, proof) || !body.complete()) return std::nullopt;
  return proof;
}

std::optional<Status> read_refused(const Frame& frame) {
  Decoder body(frame.body);
  const auto code = body.get<std::int32_t>();
  std::string text = body.text(longest_text);
  if (!is(frame, Say::Refused) || !body.complete()) return std::nullopt;
  return Status(code_from(code), std::move(text));
}

std::optional<Card> read_card(const Frame& frame) {
  Decoder body(frame.body);
  Card card;
  card.host = body.text(longest_host);
  card.machine = body.get<std::uint64_t>();
  card.reach = body.get<std::uint64_t>();
  card.left = std::chrono::milliseconds(std::clamp<std::int64_t>(body.get<std::int64_t>(), 0, INT_MAX));
  if (!is(frame, Say::Card) || !body.complete()) return std::nullopt;
  return card;
}

std::optional<Roster> read_roster(const Frame& frame, Rank size) {
  Decoder body(frame.body);
  Roster roster;
  roster.nonce = body.get<std::uint64_t>();
  roster.silence = std::chrono::milliseconds(std::clamp<std::int64_t>(body.get<std::int64_t>(), 1, never.count()));
  roster.on_one_host = body.get<std::uint8_t>() != 0;
  roster.shares_memory = body.get<std::uint8_t>() != 0;
  roster.offer = body.bytes(longest_offer);
  for (Rank rank = 0; rank < size; ++rank) roster.hosts.push_back(body.text(longest_host));
  for (Rank rank = 0; rank < size; ++rank) roster.machines.push_back(body.get<std::uint64_t>());
  if (!is(frame, Say::Roster) || !body.complete()) return std::nullopt;
  return roster;
}

std::optional<Address> read_address(const Frame& frame) {
  Decoder body(frame.body);
  Address address{.bytes = body.bytes(longest_address)};
  if (!is(frame, Say::Address) || !body.complete()) return std::nullopt;
  return address;
}

std::optional<Table> read_table(const Frame& frame, Rank size) {
  Decoder body(frame.body);
  Table table;
  for (Rank rank = 0; rank < size; ++rank) table.addresses.push_back(body.bytes(longest_address));
  if (!is(frame, Say::Table) || !body.complete()) return std::nullopt;
  return table;
}

Code code_from(std::int32_t number) {
  const bool known = number > static_cast<int>(Code::Ok) && number <= static_cast<int>(Code::Internal);
  return known ? static_cast<Code>(number) : Code::Internal;
}

}  // namespace lacuna::runtime::admission
