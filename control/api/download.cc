// GET api/v1/profiles/ID/download?format=F: the profile as a file of some format.
#include <utility>

#include "control/api/profile_lookup.h"
#include "control/api/reply.h"
#include "control/api/resources.h"
#include "control/profiles/export.h"
#include "control/profiles/pprof.h"

namespace flamegate::control {
namespace {

using proxy::Result;

constexpr std::string_view kStoredFormat = "pprof";

ApiResponse fileReply(const ExportFormat& format, const ExportContext& context, Body body) {
  ApiResponse response;
  response.addHeader("content-type", format.content_type);
  response.addHeader("content-disposition",
                     "attachment; filename=\"" + exportFileName(format, context) + "\"");
  response.addHeader("cache-control", "private, no-store");
  response.addHeader("x-content-type-options", "nosniff");
  // A browser that shows a document in spite of all that runs nothing in it.
  response.addHeader("content-security-policy",
                     "sandbox; default-src 'none'; frame-ancestors 'none'");
  response.body = std::move(body);
  return response;
}

ApiResponse exportReply(const ExportFormat& format, const ExportContext& context,
                        const std::string& stored) {
  const Result<Profile> profile = decodePprof(stored);
  if (!profile) return errorReply(500, "undecodable", "the stored profile cannot be read");
  Result<std::string> text = format.write(*profile, context);
  if (!text) return errorReply(text.error());
  return fileReply(format, context, std::move(*text));
}

std::string knownFormats() {
  std::string names;
  for (const ExportFormat& format : exportFormats()) {
    names.append(names.empty() ? "" : ", ").append(format.name);
  }
  return names;
}

}  // namespace

void downloadProfile(ApiServices& services, ApiRequest&& request, Responder respond) {
  const std::string* const asked = request.findQuery("format");
  const ExportFormat* const format =
      findExportFormat(asked == nullptr ? kStoredFormat : std::string_view(*asked));
  if (format == nullptr) {
    respond(errorReply(400, "bad-format", "format must be one of " + knownFormats()));
    return;
  }
  withProfileBody(
      services, request, std::move(respond),
      [&services, format](const ProfileRecord& record, std::string stored, Responder answer) {
        const ExportContext context{record.id, record.route};
        if (format->name == kStoredFormat) {
          answer(fileReply(*format, context, std::move(stored)));
          return;
        }
        answerFromPool(
            services,
            [format, context, stored = std::move(stored)] {
              return exportReply(*format, context, stored);
            },
            std::move(answer));
      });
}

}  // namespace flamegate::control
