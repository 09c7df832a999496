#include "string_table.h"

#include <stdlib.h>
#include <string.h>

static const char kEllipsis[] = "\xe2\x80\xa6";

int fg_strings_init(fg_strings* strings, size_t room) {
  uint32_t slots = 64;
  while (slots < 2 * (room + 1)) {
    slots *= 2;
  }
  strings->mask = slots - 1;
  strings->room = (uint32_t)room + 1;
  strings->used = 1;
  strings->slots = calloc(slots, sizeof(*strings->slots));
  strings->entries = calloc(strings->room, sizeof(*strings->entries));
  return strings->slots != NULL && strings->entries != NULL;
}

void fg_strings_free(fg_strings* strings) {
  fg_bytes_free(&strings->text);
  free(strings->slots);
  free(strings->entries);
}

static uint32_t hash(const char* text, size_t size) {
  uint32_t h = UINT32_C(2166136261);  // FNV-1a
  for (size_t i = 0; i < size; i++) {
    h = (h ^ (uint8_t)text[i]) * UINT32_C(16777619);
  }
  return h;
}

static int is_cut(size_t size) { return size > FG_STRING_BYTES_MAX; }

static size_t kept_size(const char* text, size_t size) {
  if (!is_cut(size)) {
    return size;
  }
  size = FG_STRING_BYTES_MAX - (sizeof(kEllipsis) - 1);
  while (size > 0 && ((uint8_t)text[size] & 0xC0) == 0x80) {
    size--;  // not in the middle of a character
  }
  return size;
}

static uint32_t append(fg_strings* strings, const char* text, size_t size, int cut) {
  if (strings->used == strings->room) {
    strings->text.failed = 1;
    return 0;
  }
  uint32_t id = strings->used++;
  strings->entries[id] = (fg_string){(uint32_t)strings->text.size, 0};
  fg_put_raw(&strings->text, text, size);
  if (cut) {
    fg_put_raw(&strings->text, kEllipsis, sizeof(kEllipsis) - 1);
  }
  strings->entries[id].size = (uint32_t)strings->text.size - strings->entries[id].offset;
  return id;
}

static int is_same(const fg_strings* strings, uint32_t id, const char* text, size_t size, int cut) {
  const fg_string* entry = &strings->entries[id];
  size_t mark = cut ? sizeof(kEllipsis) - 1 : 0;
  const uint8_t* known = strings->text.data + entry->offset;
  return entry->size == size + mark && memcmp(known, text, size) == 0 &&
         memcmp(known + size, kEllipsis, mark) == 0;
}

uint32_t fg_string_id(fg_strings* strings, const char* text, size_t size) {
  if (size == 0) {
    return 0;
  }
  int cut = is_cut(size);
  size = kept_size(text, size);
  for (uint32_t i = hash(text, size) & strings->mask;; i = (i + 1) & strings->mask) {
    if (strings->slots[i] == 0) {
      return strings->slots[i] = append(strings, text, size, cut);
    }
    if (!strings->text.failed && is_same(strings, strings->slots[i], text, size, cut)) {
      return strings->slots[i];
    }
    if (strings->text.failed) {
      return 0;
    }
  }
}

void fg_strings_write(const fg_strings* strings, fg_bytes* out, uint32_t field) {
  out->failed |= strings->text.failed;
  for (uint32_t id = 0; id < strings->used && !out->failed; id++) {
    const fg_string* entry = &strings->entries[id];
    fg_put_bytes_field(out, field, id == 0 ? NULL : strings->text.data + entry->offset,
                       entry->size);
  }
}
