// The samples in order of time as the viewer's flame chart reads them.
#pragma once

#include <string>

#include "control/profiles/model.h"

namespace flamegate::control {

// Columnar JSON, here for two samples of 1 ms each, 2 ms after the start:
//
//   {"start_unix_ns":"1700000000000000000","duration_ns":10000000,
//    "strings":["handler","app/views.py","render"],
//    "functions":{"name":[0,2],"file":[1,1],"line":[8,5]},
//    "stacks":{"parent":[-1,0,1],"function":[-1,0,1],"line":[0,12,7]},
//    "states":["running","waiting","gil","gc"],
//    "threads":[{"name":"main","t_ns":[2000000,3000000],"weight_ns":[1000000,1000000],
//                "cpu_ns":[1000000,900000],"stack":[2,1],"state":[0,0]}]}
//
// "strings" and "functions" are as in the tree. "stacks" is the call tree by function: an entry is
// a parent and a function, entry 0 the empty stack (parent -1, function -1), function -2 what does
// not fit into 200,000 entries; "line" is the line of the entry's code that weighs most. A thread's
// columns have one entry a sample, in order of time: t_ns is its beginning, counted from the start;
// samples of one thread do not overlap, and a gap means that nothing is known. "stack" is an index
// into "stacks", "state" into "states"; cpu_ns is 0 when CPU time is not known. Threads stand in
// order of their first sample; name is "" when not known. The start is a decimal string because it
// does not fit into a JavaScript number.
std::string timelineJson(const Profile& profile);

}  // namespace flamegate::control
