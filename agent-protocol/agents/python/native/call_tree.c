#include "call_tree.h"

static uint32_t first_slot(uint32_t parent, uint32_t code, int32_t instr) {
  uint64_t mixed = ((uint64_t)parent << 32 | code) * UINT64_C(0x9E3779B97F4A7C15);
  mixed = (mixed ^ (mixed >> 29) ^ (uint32_t)instr) * UINT64_C(0xBF58476D1CE4E5B9);
  return (uint32_t)(mixed >> 32) & (FG_NODE_SLOTS - 1);
}

uint32_t fg_tree_child(fg_call_tree* tree, uint32_t parent, uint32_t code, int32_t instr) {
  uint32_t slot = first_slot(parent, code, instr);
  for (uint32_t id = tree->slots[slot]; id != 0; id = tree->slots[slot]) {
    const fg_node* node = &tree->nodes[id];
    if (node->parent == parent && node->code == code && node->instr == instr) {
      return id;
    }
    slot = (slot + 1) & (FG_NODE_SLOTS - 1);
  }
  if (tree->used == FG_NODES_MAX) {
    return FG_ROOT;
  }
  uint32_t id = tree->used++;
  tree->nodes[id] = (fg_node){parent, code, instr, tree->nodes[parent].depth + 1};
  tree->slots[slot] = id;
  return id;
}

uint32_t fg_tree_common(const fg_call_tree* tree, uint32_t a, uint32_t b) {
  while (a != b) {
    if (tree->nodes[a].depth >= tree->nodes[b].depth) {
      a = tree->nodes[a].parent;
    } else {
      b = tree->nodes[b].parent;
    }
  }
  return a;
}
