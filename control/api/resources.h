// Every resource that control serves to the proxy. One line each here and in resources.cc, one file
// each for the work.
#pragma once

#include "control/api/exchange.h"
#include "control/api/router.h"
#include "control/api/services.h"

namespace flamegate::control {

// The table of all that lies below the prefix. The services outlive it.
Router apiRouter(ApiServices& services);

void listProfiles(ApiServices&, ApiRequest&&, Responder);
void showProfile(ApiServices&, ApiRequest&&, Responder);
void deleteProfile(ApiServices&, ApiRequest&&, Responder);
void pinProfile(ApiServices&, ApiRequest&&, Responder);
void unpinProfile(ApiServices&, ApiRequest&&, Responder);
void downloadProfile(ApiServices&, ApiRequest&&, Responder);
void showTree(ApiServices&, ApiRequest&&, Responder);
void showTimeline(ApiServices&, ApiRequest&&, Responder);
void listPageview(ApiServices&, ApiRequest&&, Responder);
void listRoutes(ApiServices&, ApiRequest&&, Responder);
void listHosts(ApiServices&, ApiRequest&&, Responder);
void showStatus(ApiServices&, ApiRequest&&, Responder);

// Pages, scripts and styles; none of them holds data. Answers every path that no resource has.
void showFile(ApiServices&, ApiRequest&&, Responder);
// 303 to the viewer: of any id under our own path, of known ones under rack-mini-profiler's.
void redirectToProfile(ApiServices&, ApiRequest&&, Responder);
void redirectKnownProfile(ApiServices&, ApiRequest&&, Responder);

}  // namespace flamegate::control
