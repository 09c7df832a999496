// Whether a file is still the one that was read.
#pragma once

#include <cstdint>
#include <string>

#include <sys/stat.h>

namespace flamegate::proxy {

// What the system knows of the content behind a path, through all symbolic links. All zero: there
// is no such file. A value; two that are equal stand for the same content.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t bytes = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;

  bool operator==(const FileStamp&) const = default;

  // One system call.
  static FileStamp of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    const auto nanoseconds = [](const timespec& at) {
      return at.tv_sec * 1'000'000'000LL + at.tv_nsec;
    };
    return {status.st_dev, status.st_ino, status.st_size, nanoseconds(status.st_mtim),
            nanoseconds(status.st_ctim)};
  }
};

}  // namespace flamegate::proxy
