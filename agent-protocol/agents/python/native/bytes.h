// A growing byte array with the two encodings of protocol buffers. Errors stick: after a failed
// allocation nothing more is written and `failed` is set.
#ifndef FLAMEGATE_NATIVE_BYTES_H
#define FLAMEGATE_NATIVE_BYTES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint8_t* data;
  size_t size, room;
  int failed;
} fg_bytes;

void fg_bytes_free(fg_bytes* bytes);

void fg_put_raw(fg_bytes* bytes, const void* data, size_t size);
void fg_put_varint(fg_bytes* bytes, uint64_t value);

// Field `number` of a message. A number field of value 0 is left out, as protocol buffers do.
void fg_put_number_field(fg_bytes* bytes, uint32_t number, uint64_t value);
void fg_put_bytes_field(fg_bytes* bytes, uint32_t number, const void* data, size_t size);

#endif
