// The descriptions of the sections: the only list of keys, with their limits.
#pragma once

#include "config/load/visitor.h"
#include "config/schema/config.h"

namespace flamegate::config {

// The whole file. Profiling and clusters come before routes, which start from them.
void describeConfig(Visitor& v, Config& config);

void describeListener(Visitor& v, Listener& listener);
void describeListenerTls(Visitor& v, ListenerTls& tls);
void describeCluster(Visitor& v, Cluster& cluster);
// The same where a route holds it: the name may stay as it is.
void describeNamelessCluster(Visitor& v, Cluster& cluster);
void describeProfiling(Visitor& v, Profiling& profiling);
// The keys of the profiling section that a route may override.
void describeProfilingPolicy(Visitor& v, ProfilingPolicy& policy);
void describeControl(Visitor& v, Control& control);
void describeStore(Visitor& v, Store& store);
void describeIngest(Visitor& v, Ingest& ingest);
void describeCollect(Visitor& v, Collect& collect);
void describeForward(Visitor& v, Forward& forward);

// One route; a cluster that is written inside it is added to `clusters`.
void describeRoute(Visitor& v, Route& route, std::vector<Cluster>& clusters);

}  // namespace flamegate::config
