// The merged call tree as the viewer reads it.
#pragma once

#include <string>
#include <string_view>

#include "control/profiles/call_tree.h"
#include "control/profiles/limits.h"
#include "control/profiles/model.h"

namespace flamegate::control {

struct TreeOptions {
  size_t nodes_max = kTreeNodesDefault;  // more than kTreeNodesMax is taken as that
  std::string_view value = {};           // a type of values; "" or unknown: shownColumn()
  Granularity granularity = Granularity::Functions;
};

// Columnar JSON, here for a request that waited 4 ms and rendered 6 ms:
//
//   {"types":["samples","wall","cpu"],"units":["count","nanoseconds","nanoseconds"],
//    "value":"wall","total":10000000,"samples":10,
//    "strings":["handler","app/views.py","render","query","app/db.py"],
//    "functions":{"name":[0,2,3],"file":[1,1,4],"line":[8,5,30]},
//    "nodes":{"parent":[-1,0,1,1],"function":[-1,0,1,2],"line":[0,12,7,31],
//             "self":[0,0,6000000,4000000],"total":[10000000,10000000,6000000,4000000],
//             "samples":[10,10,6,4]},
//    "pruned":{"nodes":0,"value":0},
//    "states":{"running":6000000,"waiting":4000000,"gil":0,"gc":0}}
//
// "functions" are columns: name and file are indices into "strings", line is where the function
// begins, 0 when not known. "nodes" are columns too: node 0 is the root (parent -1, function -1); a
// parent stands before its children, children stand by falling total; "line" is the line of the
// node's code that weighs most; "self" and "total" are in the unit of "value"; "samples" counts the
// samples of the total. What is beyond nodes_max hangs as one child with function -2 below the node
// it was cut from; "pruned" says how many nodes those stand for and their value. "states" are
// nanoseconds of the whole profile. "value" is "" in a profile without types of values.
std::string treeJson(const Profile& profile, const TreeOptions& options);

}  // namespace flamegate::control
