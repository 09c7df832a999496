// Puts the files of ui/dist into the executable's read-only data. The assembler finds them by the
// include path that CMake hands it.

#define FLAMEGATE_UI_EMBED(symbol, file)                    \
  asm(".pushsection .rodata.flamegate_ui,\"a\",@progbits\n" \
      ".balign 16\n"                                        \
      ".globl " symbol                                      \
      "\n"                                                  \
      ".type " symbol ", @object\n" symbol                  \
      ":\n"                                                 \
      ".incbin \"" file                                     \
      "\"\n"                                                \
      ".size " symbol ", . - " symbol                       \
      "\n"                                                  \
      ".popsection\n");

#define FLAMEGATE_UI_FILE(number, path, type, kind, immutable, hash, size) \
  FLAMEGATE_UI_EMBED("flamegate_ui_file_" #number, path)

#define FLAMEGATE_UI_FILE_GZ(number, path, type, kind, immutable, hash, size, gzip_size) \
  FLAMEGATE_UI_EMBED("flamegate_ui_file_" #number, path)                                 \
  FLAMEGATE_UI_EMBED("flamegate_ui_gzip_" #number, path ".gz")

#define FLAMEGATE_UI_BADGE(path, integrity)

#include "ui/dist/manifest.inc"
