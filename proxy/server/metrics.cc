#include "proxy/server/metrics.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace flamegate::proxy {

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  text_.append(" ").append(type).append("\n");
}

void MetricsText::sample(uint64_t value, std::string_view labels) {
  put(std::to_string(value), labels);
}

void MetricsText::sampleMillis(uint64_t thousandths, std::string_view labels) {
  const std::string fraction = std::to_string(1000 + thousandths % 1000).substr(1);
  put(std::to_string(thousandths / 1000) + "." + fraction, labels);
}

void MetricsText::put(std::string_view value, std::string_view labels) {
  text_.append(name_);
  if (!labels.empty()) text_.append("{").append(labels).append("}");
  text_.append(" ").append(value).append("\n");
}

void appendProcessMetrics(uint64_t started_ms, MetricsText& out) {
  out.family("process_start_time_seconds", "gauge", "When the process began, in Unix time.");
  out.sampleMillis(started_ms);
  std::error_code error;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", error);
  out.family("process_open_fds", "gauge", "Open file descriptors.");
  out.sample(static_cast<uint64_t>(std::distance(begin(descriptors), end(descriptors))));
  uint64_t pages = 0;
  uint64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident_pages;
  out.family("process_resident_memory_bytes", "gauge", "Memory that is resident.");
  out.sample(resident_pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
}

void appendWorkerMetrics(const std::vector<const WorkerCounters*>& workers, MetricsText& out) {
  struct Family {
    Counter WorkerCounters::*member;
    std::string_view name;
    std::string_view type;
    std::string_view help;
  };
  constexpr Family kFamilies[] = {
      {&WorkerCounters::connections_accepted, "flamegate_connections_total", "counter",
       "Client connections accepted."},
      {&WorkerCounters::connections_open, "flamegate_connections_open", "gauge",
       "Client connections now open."},
      {&WorkerCounters::requests, "flamegate_requests_total", "counter",
       "Requests whose head was complete and well-formed."},
      {&WorkerCounters::requests_active, "flamegate_requests_active", "gauge",
       "Requests now being served."},
      {&WorkerCounters::requests_refused, "flamegate_requests_refused_total", "counter",
       "Requests refused before their head was complete and well-formed."},
      {&WorkerCounters::local_replies, "flamegate_local_replies_total", "counter",
       "Answers that the proxy gave by itself."},
      {&WorkerCounters::upstream_failures, "flamegate_upstream_failures_total", "counter",
       "Attempts that failed on the application's side."},
      {&WorkerCounters::retries, "flamegate_retries_total", "counter", "Attempts after the first."},
      {&WorkerCounters::client_aborts, "flamegate_client_aborts_total", "counter",
       "Requests whose client left, or sent malformed content, after their head."},
      {&WorkerCounters::log_lines_dropped, "flamegate_access_log_lines_dropped_total", "counter",
       "Access log lines that could not be written."},
  };
  for (const Family& family : kFamilies) {
    out.family(family.name, family.type, family.help);
    uint64_t sum = 0;
    for (const WorkerCounters* worker : workers) sum += (worker->*family.member).get();
    out.sample(sum);
  }
  out.family("flamegate_responses_total", "counter", "Responses by class of their status.");
  constexpr std::string_view kClasses[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
  for (size_t i = 0; i < std::size(kClasses); ++i) {
    uint64_t sum = 0;
    for (const WorkerCounters* worker : workers) sum += worker->responses[i].get();
    out.sample(sum, "class=\"" + std::string(kClasses[i]) + "\"");
  }
}

}  // namespace flamegate::proxy
