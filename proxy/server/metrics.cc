#include "proxy/server/metrics.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace flamegate::proxy {
namespace {

// In seconds, without zeros at the end.
std::string fromMicros(uint64_t us) {
  std::string fraction = std::to_string(1'000'000 + us % 1'000'000).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return std::to_string(us / 1'000'000) + (fraction.empty() ? "" : "." + fraction);
}

std::string escaped(std::string_view label) {
  std::string out;
  for (char c : label) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.append(c == '\n' ? "\\n" : std::string(1, c));
  }
  return out;
}

}  // namespace

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  text_.append(" ").append(type).append("\n");
}

void MetricsText::sample(uint64_t value, std::string_view labels) {
  put({}, std::to_string(value), labels);
}

void MetricsText::sampleMicros(uint64_t millionths, std::string_view labels) {
  put({}, fromMicros(millionths), labels);
}

void MetricsText::histogram(std::string_view label_name, std::string_view label,
                            const DurationHistogram::Values& values) {
  const std::string labels = std::string(label_name) + "=\"" + escaped(label) + "\"";
  uint64_t count = 0;
  for (size_t i = 0; i < values.buckets.size(); ++i) {
    count += values.buckets[i];
    const bool last = i == DurationHistogram::kBoundsUs.size();
    const std::string bound = last ? "+Inf" : fromMicros(DurationHistogram::kBoundsUs[i]);
    put("_bucket", std::to_string(count), labels + ",le=\"" + bound + "\"");
  }
  put("_sum", fromMicros(values.sum_us), labels);
  put("_count", std::to_string(count), labels);
}

void MetricsText::put(std::string_view suffix, std::string_view value, std::string_view labels) {
  text_.append(name_).append(suffix);
  if (!labels.empty()) text_.append("{").append(labels).append("}");
  text_.append(" ").append(value).append("\n");
}

void appendTrafficMetrics(const TrafficRegistry::Totals& totals, MetricsText& out) {
  out.family("flamegate_request_duration_seconds", "histogram",
             "From a request's head to the end of its response, by route.");
  for (const auto& [route, values] : totals.routes) out.histogram("route", route, values);
  out.family("flamegate_upstream_duration_seconds", "histogram",
             "From asking for a connection to the head of the response, by cluster.");
  for (const auto& [cluster, values] : totals.clusters) out.histogram("cluster", cluster, values);
}

void appendProcessMetrics(uint64_t started_ms, MetricsText& out) {
  out.family("process_start_time_seconds", "gauge", "When the process began, in Unix time.");
  out.sampleMicros(started_ms * 1000);
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
