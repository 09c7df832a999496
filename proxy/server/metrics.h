// Prometheus' text exposition format 0.0.4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proxy/exchange/counters.h"
#include "proxy/exchange/traffic_stats.h"

namespace flamegate::proxy {

// Writes metric families one after the other.
class MetricsText {
 public:
  // Begins a family. `type`: counter or gauge.
  void family(std::string_view name, std::string_view type, std::string_view help);
  // One sample of the family begun last. `labels` is empty or `name="value",…`, already escaped.
  void sample(uint64_t value, std::string_view labels = {});
  // The same of a value in millionths.
  void sampleMicros(uint64_t millionths, std::string_view labels = {});
  // The samples of a histogram in seconds. `label`: the value of a label, of any bytes.
  void histogram(std::string_view label_name, std::string_view label,
                 const DurationHistogram::Values& values);
  const std::string& text() const { return text_; }

 private:
  void put(std::string_view suffix, std::string_view value, std::string_view labels);

  std::string name_;
  std::string text_;
};

// This process, under the names that all Prometheus clients use. `started_ms`: Unix milliseconds.
void appendProcessMetrics(uint64_t started_ms, MetricsText& out);

// Durations by route and by cluster.
void appendTrafficMetrics(const TrafficRegistry::Totals& totals, MetricsText& out);

// What the workers have counted, summed.
void appendWorkerMetrics(const std::vector<const WorkerCounters*>& workers, MetricsText& out);

}  // namespace flamegate::proxy
