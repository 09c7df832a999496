// Prometheus' text exposition format 0.0.4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proxy/exchange/counters.h"

namespace flamegate::proxy {

// Writes metric families one after the other.
class MetricsText {
 public:
  // Begins a family. `type`: counter or gauge.
  void family(std::string_view name, std::string_view type, std::string_view help);
  // One sample of the family begun last. `labels` is empty or `name="value",…`, already escaped.
  void sample(uint64_t value, std::string_view labels = {});
  // The same of a value in thousandths.
  void sampleMillis(uint64_t thousandths, std::string_view labels = {});
  const std::string& text() const { return text_; }

 private:
  void put(std::string_view value, std::string_view labels);

  std::string name_;
  std::string text_;
};

// This process, under the names that all Prometheus clients use. `started_ms`: Unix milliseconds.
void appendProcessMetrics(uint64_t started_ms, MetricsText& out);

// What the workers have counted, summed.
void appendWorkerMetrics(const std::vector<const WorkerCounters*>& workers, MetricsText& out);

}  // namespace flamegate::proxy
