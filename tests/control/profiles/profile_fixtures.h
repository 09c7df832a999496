// Profiles and pprof bytes that the tests of control/profiles share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "control/profiles/model.h"

namespace flamegate::control {

// A request of 10 ms on two threads, sampled each millisecond: handler → query (waiting) and
// handler → render → escape on "main", gc on "worker". Wall 10,000,000 ns on main.
Profile requestProfile();

// A profile with one sample a stack; frames are "name" or "name@line", root first.
Profile stacksProfile(std::initializer_list<std::pair<std::vector<std::string>, int64_t>> stacks);

// One line a sample: everything that a sample says, resolved to text, in the profile's order. Two
// profiles that say the same give the same lines, however their tables are numbered.
std::vector<std::string> describeSamples(const Profile& profile);

// Pieces of protocol-buffer messages, for files that no writer of ours makes.
namespace wire {
std::string varint(uint64_t value);
std::string number(uint32_t field, uint64_t value);
std::string bytes(uint32_t field, std::string_view value);
}  // namespace wire

}  // namespace flamegate::control
