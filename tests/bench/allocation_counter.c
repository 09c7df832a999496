/* Counts the allocations of a process. Preloaded; the count lies in the file $ALLOCATION_COUNTS.PID as
 * one 64-bit number in the machine's byte order, shared, so that others read it while the process runs.
 * Allocations before that file is mapped, and of processes without that variable, are not counted. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* block, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

static _Atomic uint64_t unmapped;
static _Atomic uint64_t* allocations = &unmapped;

static void note(void) { atomic_fetch_add_explicit(allocations, 1, memory_order_relaxed); }

void* malloc(size_t bytes) {
  note();
  return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  note();
  return __libc_calloc(count, bytes);
}

void* realloc(void* block, size_t bytes) {
  note();
  return __libc_realloc(block, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  note();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** block, size_t alignment, size_t bytes) {
  note();
  *block = __libc_memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

__attribute__((constructor)) static void mapCount(void) {
  const char* prefix = getenv("ALLOCATION_COUNTS");
  if (prefix == NULL) return;
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", prefix, (int)getpid());
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (ftruncate(fd, sizeof(uint64_t)) == 0) {
    void* shared = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED) allocations = shared;
  }
  close(fd);
}
