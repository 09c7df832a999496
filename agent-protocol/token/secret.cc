#include "agent-protocol/token/secret.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proxy/base/encoding.h"
#include "proxy/base/fd.h"

namespace flamegate::agent {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;
using proxy::UniqueFd;

auto failFile(ErrorCode code, const std::string& path, std::string_view what) {
  return proxy::fail(code, ErrorSource::Config, path + ": " + std::string(what));
}

auto failSystem(const std::string& path, int error) {
  return failFile(error == ENOENT ? ErrorCode::NotFound : ErrorCode::Io, path,
                  std::strerror(error));
}

// At most one byte more than a secret file may have, so that the caller sees an overlong one.
proxy::Result<std::string> readUpTo(const std::string& path, size_t bytes_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return failSystem(path, errno);
  std::string content(bytes_max + 1, '\0');
  size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = ::read(fd.get(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failSystem(path, errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  content.resize(size);
  return content;
}

bool writeAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    content.remove_prefix(static_cast<size_t>(put));
  }
  return ::fsync(fd) == 0;
}

std::string randomHex(size_t bytes) {
  std::string raw(bytes, '\0');
  proxy::fillRandom(raw.data(), raw.size());
  return proxy::toHex(raw);
}

// Makes the file whole or not at all. A file that somebody else made meanwhile stays.
proxy::Result<> createSecretFile(const std::string& path) {
  const std::string draft = path + "." + randomHex(8);
  {
    const UniqueFd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid()) return failSystem(path, errno);
    if (!writeAll(fd.get(), randomHex(32) + "\n")) {
      const int error = errno;
      ::unlink(draft.c_str());
      return failSystem(path, error);
    }
  }
  const int linked = ::link(draft.c_str(), path.c_str());
  const int error = errno;
  ::unlink(draft.c_str());
  if (linked != 0 && error != EEXIST) return failSystem(path, error);
  return {};
}

}  // namespace

proxy::Result<std::string> secretFromText(std::string_view content) {
  if (content.ends_with('\n')) {
    content.remove_suffix(1);
    if (content.ends_with('\r')) content.remove_suffix(1);
  }
  if (content.size() < kSecretBytesMin) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Config, "a secret has at least 32 bytes");
  }
  if (content.size() > kSecretBytesMax) {
    return proxy::fail(ErrorCode::TooLarge, ErrorSource::Config, "a secret has at most 4 KiB");
  }
  return std::string(content);
}

proxy::Result<std::string> readSecretFile(const std::string& path) {
  auto content = readUpTo(path, kSecretBytesMax + 2);
  if (!content) return content;
  auto secret = secretFromText(*content);
  if (!secret) return failFile(secret.error().code, path, secret.error().detail);
  return secret;
}

proxy::Result<std::string> readOrCreateSecretFile(const std::string& path) {
  auto secret = readSecretFile(path);
  if (secret || secret.error().code != ErrorCode::NotFound) return secret;
  if (auto created = createSecretFile(path); !created) return proxy::fail(created.error());
  return readSecretFile(path);
}

}  // namespace flamegate::agent
