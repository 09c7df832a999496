#include "bytes.h"

#include <stdlib.h>
#include <string.h>

enum { kVarint = 0, kLengthDelimited = 2 };

void fg_bytes_free(fg_bytes* bytes) {
  free(bytes->data);
  *bytes = (fg_bytes){NULL, 0, 0, 0};
}

static int reserve(fg_bytes* bytes, size_t more) {
  if (bytes->failed) {
    return 0;
  }
  if (bytes->room - bytes->size >= more) {
    return 1;
  }
  size_t room = bytes->room ? 2 * bytes->room : 4096;
  while (room - bytes->size < more) {
    room *= 2;
  }
  uint8_t* grown = realloc(bytes->data, room);
  if (grown == NULL) {
    bytes->failed = 1;
    return 0;
  }
  bytes->data = grown;
  bytes->room = room;
  return 1;
}

void fg_put_raw(fg_bytes* bytes, const void* data, size_t size) {
  if (size != 0 && reserve(bytes, size)) {
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
  }
}

void fg_put_varint(fg_bytes* bytes, uint64_t value) {
  uint8_t encoded[10];
  size_t size = 0;
  while (value >= 0x80) {
    encoded[size++] = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  encoded[size++] = (uint8_t)value;
  fg_put_raw(bytes, encoded, size);
}

void fg_put_number_field(fg_bytes* bytes, uint32_t number, uint64_t value) {
  if (value != 0) {
    fg_put_varint(bytes, number << 3 | kVarint);
    fg_put_varint(bytes, value);
  }
}

void fg_put_bytes_field(fg_bytes* bytes, uint32_t number, const void* data, size_t size) {
  fg_put_varint(bytes, number << 3 | kLengthDelimited);
  fg_put_varint(bytes, size);
  fg_put_raw(bytes, data, size);
}
