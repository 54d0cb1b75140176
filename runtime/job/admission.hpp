#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/encoding.hpp"
#include "runtime/job/channel.hpp"
#include "runtime/values/dtype.hpp"

/// What rank 0 and a rank r that joins the job tell each other. Each line is one frame.
///   rank 0: Hello    its nonce
///   rank r: Claim    version, rank, size, its nonce and a proof that it holds the key
///   rank 0: Admitted its own proof, or Refused with the reason
///   rank r: Card     host, machine, reach of its memory, and the time after which it gives up
///   rank 0: Roster   host and machine of each rank, whether all are on one host, whether they share memory, and rank
///                    0's offer; or Refused
///   rank r: Address  its address, which may depend on the roster; or Refused with the reason why it has none
///   rank 0: Table    the address of each rank, or Refused
/// A proof is the HMAC-SHA256, under the job's key, of who speaks, both nonces, version, rank and size. It keeps others
/// out of the job. After that, the connection is neither encrypted nor protected.
namespace lacuna::runtime::admission {

inline constexpr std::uint32_t protocol_version = 5;
inline constexpr std::size_t longest_greeting = 2048;  ///< bytes of every frame before the Card
inline constexpr std::size_t longest_text = 1500;
inline constexpr std::size_t longest_host = 255;
inline constexpr std::size_t longest_address = 1 << 16;
inline constexpr std::size_t longest_offer = 256;
inline constexpr std::size_t longest_card = longest_host + 64;

enum class Say : std::uint8_t { Hello = 1, Claim, Admitted, Refused, Card, Roster, Address, Table };

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

/// Fills `bytes` with random bytes that are fit for secrets. Returns false if the system has none.
bool fill_random(std::span<std::byte> bytes);

struct Hello {
  Nonce nonce{};
};

struct Claim {
  std::uint32_t version = protocol_version;
  Rank rank = 0;
  Rank size = 0;
  Nonce nonce{};
  Proof proof{};
};

enum class Speaker : std::uint8_t { Store, Guest };

/// Computes the proof of `speaker` for a claim and the store's nonce. The error is Internal if the system's
/// cryptography refuses.
Result<Proof> prove(std::string_view key, Speaker speaker, const Nonce& store, const Claim& claim);
/// Are the proofs equal? The comparison takes the same time whatever they are.
bool matches(const Proof& a, const Proof& b);

struct Card {
  std::string host;
  std::uint64_t machine = 0, reach = 0;
  std::chrono::milliseconds left{0};  ///< the time until this rank gives up
};

struct Roster {
  std::uint64_t nonce = 0;
  std::chrono::milliseconds silence{0};
  bool on_one_host = false, shares_memory = false;
  std::vector<std::byte> offer{};
  std::vector<std::string> hosts;
  std::vector<std::uint64_t> machines;
};

struct Address {
  std::vector<std::byte> bytes;
};

struct Table {
  std::vector<std::vector<std::byte>> addresses;
};

void send(Channel& channel, const Hello& hello);
void send(Channel& channel, const Claim& claim);
void send(Channel& channel, const Proof& admitted);
void send(Channel& channel, const Status& refused);
void send(Channel& channel, const Card& card);
void send(Channel& channel, const Address& address);
// These frames go to several ranks.
SharedFrame share(const Roster& roster);
SharedFrame share(const Table& table);

// Each is the inverse of a send() or share(). Nothing, if the frame is of another kind or not well-formed.
std::optional<Hello> read_hello(const Frame& frame);
/// If the claim has another version, only `version` is filled.
std::optional<Claim> read_claim(const Frame& frame);
std::optional<Proof> read_admitted(const Frame& frame);
std::optional<Status> read_refused(const Frame& frame);
std::optional<Card> read_card(const Frame& frame);
std::optional<Roster> read_roster(const Frame& frame, Rank size);
std::optional<Address> read_address(const Frame& frame);
std::optional<Table> read_table(const Frame& frame, Rank size);

/// The code with this number, which came from the wire, or Internal if there is no such code.
Code code_from(std::int32_t number);

}  // namespace lacuna::runtime::admission
