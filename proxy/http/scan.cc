#include "proxy/http/scan.h"

#include <array>

namespace flamegate::proxy {
namespace {

constexpr std::array<bool, 256> makeTokenTable() {
  std::array<bool, 256> table{};
  for (char c = 'a'; c <= 'z'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (char c = 'A'; c <= 'Z'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (char c = '0'; c <= '9'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  return table;
}

constexpr auto kTokenTable = makeTokenTable();

}  // namespace

bool isToken(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text) {
    if (!kTokenTable[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

}  // namespace flamegate::proxy
