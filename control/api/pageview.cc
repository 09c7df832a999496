// GET api/v1/pageviews/PV?after=SEQ: the profiles of one view of a page, for the badge in it.
#include "control/api/profile_lookup.h"
#include "control/api/reply.h"
#include "control/api/resources.h"
#include "proxy/base/strings.h"

namespace flamegate::control {

void listPageview(ApiServices& services, ApiRequest&& request, Responder respond) {
  uint64_t after = 0;
  if (const std::string* text = request.findQuery("after"); text != nullptr && !text->empty()) {
    const auto parsed = proxy::parseDecimal(*text);
    if (!parsed) {
      respond(errorReply(400, "bad-after", "after must be the `seq` of an earlier answer"));
      return;
    }
    after = *parsed;
  }
  const Pageviews::Page page = services.pageviews.changedAfter(request.captured.front(), after);
  std::string json = R"({"profiles":[)";
  for (size_t i = 0; i < page.records.size(); ++i) {
    if (i > 0) json.push_back(',');
    json.append(metadataJson(page.records[i], services.prefix));
  }
  json.append(R"(],"seq":)").append(std::to_string(page.sequence)).append("}");
  respond(jsonReply(200, std::move(json)));
}

}  // namespace flamegate::control
