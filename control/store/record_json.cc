#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "control/store/record.h"

namespace flamegate::control {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // written in the order of the fields
using proxy::ErrorCode;
using proxy::ErrorSource;

// Longer durations than a year are damage, not measurements.
constexpr double kMillisMax = 366.0 * 24 * 3600 * 1000;

double inMillis(Micros time) { return static_cast<double>(time.count()) / 1000.0; }

// Writes the fields that are known.
class Writer {
 public:
  void text(const char* key, std::string_view value) {
    if (!value.empty()) json_[key] = value;
  }
  template <typename T>
  void number(const char* key, const std::optional<T>& value) {
    if (value) json_[key] = *value;
  }
  void millis(const char* key, const std::optional<Micros>& value) {
    if (value) json_[key] = inMillis(*value);
  }
  void micros(const char* key, const std::optional<Micros>& value) {
    if (value) json_[key] = value->count();
  }
  template <typename Enum>
  void name(const char* key, const std::optional<Enum>& value) {
    if (value) json_[key] = nameOf(*value);
  }
  void time(const char* key, const std::optional<WallTime>& value) {
    if (value) json_[key] = toRfc3339(*value);
  }
  void object(const char* key, Writer inner) {
    if (!inner.json_.empty()) json_[key] = std::move(inner.json_);
  }
  OrderedJson& json() { return json_; }

 private:
  OrderedJson json_ = OrderedJson::object();
};

// Reads fields that may be absent; remembers the first that is wrong.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  void text(const char* key, std::string& out) {
    const Json* value = find(key);
    if (!value) return;
    if (!value->is_string()) return complain(key);
    out = value->get_ref<const std::string&>();
  }

  template <typename T>
  void number(const char* key, std::optional<T>& out) {
    const Json* value = find(key);
    if (!value) return;
    if (!fits<T>(*value)) return complain(key);
    out = value->get<T>();
  }

  void count(const char* key, uint64_t& out) {
    std::optional<uint64_t> value;
    number(key, value);
    out = value.value_or(0);
  }

  void millis(const char* key, std::optional<Micros>& out) {
    const Json* value = find(key);
    if (!value) return;
    if (!value->is_number()) return complain(key);
    const double number = value->get<double>();
    if (!(std::abs(number) <= kMillisMax)) return complain(key);
    out = Micros(std::llround(number * 1000.0));
  }

  void micros(const char* key, std::optional<Micros>& out) {
    std::optional<int64_t> value;
    number(key, value);
    if (value) out = Micros(*value);
  }

  template <typename Enum>
  void name(const char* key, std::optional<Enum>& out,
            std::optional<Enum> (*find_name)(std::string_view)) {
    std::string value;
    text(key, value);
    if (value.empty()) return;
    out = find_name(value);
    if (!out) complain(key);
  }

  void time(const char* key, std::optional<WallTime>& out) {
    std::string value;
    text(key, value);
    if (value.empty()) return;
    out = findRfc3339(value);
    if (!out) complain(key);
  }

  void flag(const char* key, bool& out) {
    const Json* value = find(key);
    if (!value) return;
    if (!value->is_boolean()) return complain(key);
    out = value->get<bool>();
  }

  void texts(const char* key, std::vector<std::string>& out) {
    const Json* value = find(key);
    if (!value) return;
    if (!value->is_array()) return complain(key);
    for (const Json& item : *value) {
      if (!item.is_string()) return complain(key);
      out.push_back(item.get<std::string>());
    }
  }

  // The fields of an inner object; `read` is not called when there is none.
  template <typename Read>
  void object(const char* key, Read read) {
    const Json* value = find(key);
    if (!value) return;
    if (!value->is_object()) return complain(key);
    Reader inner(*value);
    read(inner);
    if (!inner.fault_.empty()) complain(key);
  }

  void complain(const char* key) {
    if (fault_.empty()) fault_ = key;
  }
  const std::string& fault() const { return fault_; }

 private:
  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  template <typename T>
  static bool fits(const Json& value) {
    if (!value.is_number_integer()) return false;
    if (value.is_number_unsigned()) {
      return value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max());
    }
    if constexpr (std::is_unsigned_v<T>) {
      return false;
    } else {
      return value.get<int64_t>() >= std::numeric_limits<T>::min() &&
             value.get<int64_t>() <= std::numeric_limits<T>::max();
    }
  }

  const Json& json_;
  std::string fault_;
};

Writer writePhases(const Phases& phases) {
  Writer out;
  out.millis("queue", phases.queue);
  out.millis("connect", phases.connect);
  out.millis("first_byte", phases.first_byte);
  out.millis("body", phases.body);
  return out;
}

Writer writeStates(const ThreadStates& states) {
  Writer out;
  out.millis("running", states.running);
  out.millis("waiting", states.waiting);
  out.millis("gil", states.gil);
  out.millis("gc", states.gc);
  return out;
}

void writeRequest(Writer& out, const ProfileRecord& record) {
  out.text("id", record.id);
  if (record.kind != ProfileKind::Request) out.text("kind", nameOf(record.kind));
  out.text("state", nameOf(record.state));
  out.name("reason", record.reason);
  out.name("trigger", record.trigger);
  out.text("method", record.method);
  out.text("path", record.path);
  out.text("host", record.host);
  out.text("route", record.route);
  out.text("service", record.service);
  out.number("status", record.status);
  out.text("site", record.site);
  out.time("started_at", record.started_at);
  out.millis("duration_ms", record.duration);
  out.millis("upstream_ms", record.upstream);
}

void writeCapture(Writer& out, const ProfileRecord& record) {
  out.name("mode", record.mode);
  out.micros("interval_us", record.interval);
  out.number("samples", record.samples);
  if (const auto& ticks = record.ticks) {
    out.json()["ticks"] = {
        {"expected", ticks->expected}, {"taken", ticks->taken}, {"missed", ticks->missed}};
  }
  out.micros("overhead_us", record.overhead);
  out.text("agent", record.agent);
  out.text("runtime", record.runtime);
  out.number("pid", record.pid);
  out.number("bytes", record.bytes);
  out.text("campaign", record.campaign);
  out.text("pageview", record.pageview);
  out.millis("cpu_ms", record.cpu);
  out.object("phases_ms", writePhases(record.phases));
  out.object("states_ms", writeStates(record.states));
}

void writeRest(Writer& out, const ProfileRecord& record) {
  if (!record.changes.empty()) out.json()["changes"] = record.changes;
  if (record.time_corrected) out.json()["time_corrected"] = true;
  out.time("stored_at", record.stored_at);
  out.time("pinned_until", record.pinned_until);
  for (const auto& [name, url] : record.links) out.json()["links"][name] = url;
}

void readRequest(Reader& in, ProfileRecord& record) {
  in.text("id", record.id);
  if (!isProfileId(record.id)) in.complain("id");
  std::optional<ProfileKind> kind;
  in.name("kind", kind, findProfileKind);
  record.kind = kind.value_or(ProfileKind::Request);
  std::optional<ProfileState> state;
  in.name("state", state, findProfileState);
  record.state = state.value_or(ProfileState::Running);
  in.name("reason", record.reason, findFailReason);
  in.name("trigger", record.trigger, findTrigger);
  in.text("method", record.method);
  in.text("path", record.path);
  in.text("host", record.host);
  in.text("route", record.route);
  in.text("service", record.service);
  in.number("status", record.status);
  in.text("site", record.site);
  std::optional<WallTime> started_at;
  in.time("started_at", started_at);
  record.started_at = started_at.value_or(WallTime{});
  in.millis("duration_ms", record.duration);
  in.millis("upstream_ms", record.upstream);
}

void readCapture(Reader& in, ProfileRecord& record) {
  in.name("mode", record.mode, findProfileMode);
  in.micros("interval_us", record.interval);
  in.number("samples", record.samples);
  in.object("ticks", [&record](Reader& inner) {
    Ticks& ticks = record.ticks.emplace();
    inner.count("expected", ticks.expected);
    inner.count("taken", ticks.taken);
    inner.count("missed", ticks.missed);
  });
  in.micros("overhead_us", record.overhead);
  in.text("agent", record.agent);
  in.text("runtime", record.runtime);
  in.number("pid", record.pid);
  in.number("bytes", record.bytes);
  in.text("campaign", record.campaign);
  in.text("pageview", record.pageview);
  in.millis("cpu_ms", record.cpu);
  in.object("phases_ms", [&phases = record.phases](Reader& inner) {
    inner.millis("queue", phases.queue);
    inner.millis("connect", phases.connect);
    inner.millis("first_byte", phases.first_byte);
    inner.millis("body", phases.body);
  });
  in.object("states_ms", [&states = record.states](Reader& inner) {
    inner.millis("running", states.running);
    inner.millis("waiting", states.waiting);
    inner.millis("gil", states.gil);
    inner.millis("gc", states.gc);
  });
}

void readRest(Reader& in, ProfileRecord& record) {
  in.texts("changes", record.changes);
  in.flag("time_corrected", record.time_corrected);
  in.time("stored_at", record.stored_at);
  in.time("pinned_until", record.pinned_until);
}

}  // namespace

std::string toJson(const ProfileRecord& record) {
  Writer out;
  writeRequest(out, record);
  writeCapture(out, record);
  writeRest(out, record);
  return out.json().dump(-1, ' ', false, Json::error_handler_t::replace);
}

proxy::Result<ProfileRecord> recordFromJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Store, "a record is no JSON object");
  }
  ProfileRecord record;
  Reader in(json);
  readRequest(in, record);
  readCapture(in, record);
  readRest(in, record);
  if (!in.fault().empty()) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Store,
                       "a record's \"" + in.fault() + "\" is wrong");
  }
  return record;
}

}  // namespace flamegate::control
