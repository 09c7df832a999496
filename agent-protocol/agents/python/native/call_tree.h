// Stacks as a tree: a stack is the number of its leaf, equal stacks share it. Fixed size, nothing
// is ever removed.
//
// Thread: one writer, the profiled thread (its signal handler); read after the capture has stopped.
#ifndef FLAMEGATE_NATIVE_CALL_TREE_H
#define FLAMEGATE_NATIVE_CALL_TREE_H

#include <stdint.h>

#define FG_NODES_MAX 65536u
#define FG_NODE_SLOTS (2 * FG_NODES_MAX)
#define FG_ROOT 0u  // the node above all outermost frames; holds no frame itself

typedef struct {
  uint32_t parent;
  uint32_t code;   // slot in the capture's code table, or FG_CODE_TRUNCATED
  int32_t instr;   // byte offset of the instruction, -1 or less before the first one
  uint32_t depth;  // frames from the outermost one to this, both included
} fg_node;

// Stands for the outer frames of a stack that was too deep.
#define FG_CODE_TRUNCATED (UINT32_MAX - 1)

typedef struct {
  fg_node* nodes;   // FG_NODES_MAX of them
  uint32_t* slots;  // FG_NODE_SLOTS of them; 0: free
  uint32_t used;    // nodes, the root included
} fg_call_tree;

// The child of `parent` for that frame, made when it is new; FG_ROOT when the tree is full.
// Async-signal-safe.
uint32_t fg_tree_child(fg_call_tree* tree, uint32_t parent, uint32_t code, int32_t instr);

// The deepest node that is `a`, `b` or above both.
uint32_t fg_tree_common(const fg_call_tree* tree, uint32_t a, uint32_t b);

#endif
