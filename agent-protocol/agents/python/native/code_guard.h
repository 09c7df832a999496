// Keeps the code objects that a recording points to alive until the recording is gone.
//
// The signal handler cannot take references: it may run without the interpreter lock. Instead the
// guard stands in front of the deallocation of code objects, which always happens with the lock.
// While captures exist, a code object that one of them has met and whose last reference goes away
// gets one more reference, which the guard owns.
//
// Why a recorded pointer cannot dangle:
//  - A pointer enters a capture's table only for an object with a reference count above zero
//  (code_table.c), on a thread
//    whose stack holds it, so its deallocation has not begun; from then on the guard prevents it.
//  - Between the guard's look at the table and the end of a deallocation no tick can insert that
//  object: on other threads
//    the object would have to be on a stack, which holds a reference; on this thread the count is
//    zero by then.
#ifndef FLAMEGATE_NATIVE_CODE_GUARD_H
#define FLAMEGATE_NATIVE_CODE_GUARD_H

// All three: the caller holds the interpreter lock.

// Before a capture starts.
void fg_guard_install(void);

// After a capture was released: gives back what no other capture needs, and steps aside when there
// is none left.
void fg_guard_sweep(void);

// Code objects that only the guard keeps alive.
unsigned long fg_guard_kept(void);

#endif
