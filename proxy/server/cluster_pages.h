// What operators are told of clusters.
#pragma once

#include <string>

#include "proxy/server/cluster_keeper.h"
#include "proxy/server/metrics.h"

namespace flamegate::proxy {

// A line a cluster and an endpoint, aligned, for people.
std::string clustersText(const ClusterKeepers& clusters);
// The same as a JSON document: {"clusters":[{name, counts, names, endpoints}]}.
std::string clustersJson(const ClusterKeepers& clusters);
// Families by cluster and by endpoint; of each cluster at most 100 endpoints.
void appendClusterMetrics(const ClusterKeepers& clusters, MetricsText& out);

}  // namespace flamegate::proxy
