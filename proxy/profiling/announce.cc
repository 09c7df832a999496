#include "proxy/profiling/announce.h"

#include <algorithm>
#include <array>
#include <vector>

#include "agent-protocol/wire/pairs.h"
#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

constexpr std::string_view kIdName = "Profile-Id";
constexpr std::string_view kLinkName = "Profile-Link";
constexpr std::string_view kSkippedName = "Profile-Skipped";
constexpr std::string_view kTimingName = "Server-Timing";
constexpr std::string_view kMiniIdsName = "X-MiniProfiler-Ids";
constexpr std::string_view kMiniPathName = "X-MiniProfiler-Flamegraph-Path";

constexpr size_t kMiniIdsMax = 20;
constexpr size_t kMiniIdsBytesMax = 900;
constexpr size_t kMiniIdBytesMax = 64;

constexpr std::array kCachingIds = {HeaderId::CacheControl, HeaderId::CdnCacheControl,
                                    HeaderId::Expires, HeaderId::Pragma,
                                    HeaderId::SurrogateControl};

// Names without an id that caches of particular makers read.
bool speaksOfCaching(std::string_view name) {
  constexpr std::string_view kEnd = "-cdn-cache-control";  // Cloudflare-, Netlify-, Vercel-…
  if (name.size() > kEnd.size() && equalIgnoreCase(name.substr(name.size() - kEnd.size()), kEnd)) {
    return true;
  }
  return equalIgnoreCase(name, "x-accel-expires") || equalIgnoreCase(name, "edge-control");
}

template <typename Matches>
void removeWhere(FieldList& fields, Matches matches) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].removed() && matches(fields[i])) fields.remove(i);
  }
}

void removeNamed(FieldList& fields, std::string_view name) {
  removeWhere(fields, [name](const Field& field) { return equalIgnoreCase(field.name(), name); });
}

// Adds fields in the application's place and remembers their names for CORS.
class Announcer {
 public:
  Announcer(FieldList& fields, Arena& arena) : fields_(fields), arena_(arena) {}

  void put(std::string_view name, std::string_view value) {
    removeNamed(fields_, name);
    if (fields_.add(name, value)) names_.push_back(name);
  }

  void putMiniIds(std::string_view own_id) {
    std::string list(own_id);
    size_t count = 1;
    for (const Field& field : fields_) {
      if (field.id() != HeaderId::XMiniProfilerIds || field.removed()) continue;
      forEachElement(field.value(), [&](std::string_view id) {
        if (id == own_id || !agent::isWord(id, 1, kMiniIdBytesMax, "_-")) return true;
        if (count == kMiniIdsMax || list.size() + id.size() + 1 > kMiniIdsBytesMax) return false;
        list.append(",").append(id);
        ++count;
        return true;
      });
    }
    put(kMiniIdsName, arena_.copy(list));
  }

  // Lets scripts of other origins read our fields where they may read the response (Fetch §3.3.3).
  void expose() {
    if (names_.empty() || !fields_.has(HeaderId::AccessControlAllowOrigin)) return;
    std::string list;
    for (std::string_view name : names_) list.append(list.empty() ? "" : ", ").append(name);
    std::optional<size_t> last;
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Field& field = fields_[i];
      if (field.id() != HeaderId::AccessControlExposeHeaders || field.removed()) continue;
      if (listContains(field.value(), "*")) return;
      last = i;
    }
    if (!last) {
      fields_.add("Access-Control-Expose-Headers", arena_.copy(list));
    } else if (trimBlanks(fields_[*last].value()).empty()) {
      fields_.setValue(*last, arena_.copy(list));
    } else {
      fields_.setValue(*last, arena_.join({fields_[*last].value(), ", ", list}));
    }
  }

 private:
  FieldList& fields_;
  Arena& arena_;
  std::vector<std::string_view> names_;
};

}  // namespace

void forbidCaching(FieldList& fields) {
  for (HeaderId id : kCachingIds) fields.removeAll(id);
  removeWhere(fields, [](const Field& field) {
    return field.id() == HeaderId::Other && speaksOfCaching(field.name());
  });
  fields.add("Cache-Control", "private, no-store", HeaderId::CacheControl);
}

void announce(ResponseHead& response, const Announcement& announcement,
              const AnnounceContext& context, Arena& arena) {
  if (announcement.nothing()) return;
  FieldList& fields = response.fields;
  Announcer announcer(fields, arena);
  forbidCaching(fields);
  if (announcement.skip) {
    if (context.headers.native) {
      announcer.put(kSkippedName, skipReasonName(*announcement.skip));
    }
  } else {
    const std::string_view id = arena.copy(announcement.id->text());
    if (context.headers.native) {
      announcer.put(kIdName, id);
      if (!announcement.discreet) {
        announcer.put(kLinkName, arena.join({context.origin, context.prefix, "/p/", id}));
      }
    }
    if (context.headers.server_timing) {
      fields.add(kTimingName, arena.join({"profile;desc=\"", id, "\""}));
    }
    if (context.headers.miniprofiler && !announcement.discreet) {
      announcer.putMiniIds(id);
      announcer.put(kMiniPathName, arena.join({context.prefix, "/flamegraph?id=", id}));
    }
  }
  if (context.from_origin && !context.preflight) announcer.expose();
}

std::string linkOrigin(const std::optional<std::string>& public_url, std::string_view authority,
                       bool secure, bool known_host) {
  if (public_url) return *public_url;
  if (!known_host) return {};
  return std::string(secure ? "https://" : "http://").append(authority);
}

}  // namespace flamegate::proxy
