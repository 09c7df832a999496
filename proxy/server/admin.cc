#include "proxy/server/admin.h"


namespace flamegate::proxy {

class AdminServer::Handler final : public StreamHandler {
 public:
  Handler(const Pages& pages, ServerStream& stream) : pages_(pages), stream_(stream) {}

  void onRequest() override {
    const AdminPage page = makePage();
    const std::string length = std::to_string(page.body.size());
    ResponseHead head;
    head.status = page.status;
    head.reason = reasonPhrase(page.status);
    head.fields.add("Content-Type", page.content_type);
    head.fields.add("Content-Length", length);
    head.fields.add("Cache-Control", "no-store");
    head.framing = page.body.empty() ? Framing::None : Framing::Length;
    stream_.sendHead(head);
    body_ = page.body;
    onProgress();
  }

  void onProgress() override {
    if (!ended_) {
      sent_ += stream_.sendContent(std::string_view(body_).substr(sent_));
      if (sent_ == body_.size()) {
        ended_ = true;
        stream_.sendEnd(nullptr);
      }
    }
    if (stream_.failure() != nullptr) stream_.breakOff();
    stream_.finishTurn();
  }

 private:
  AdminPage makePage() const {
    const RequestHead& head = stream_.request();
    if (head.method != Method::Get && head.method != Method::Head) return {405, "text/plain", ""};
    auto page = pages_.find(head.target);
    if (page == pages_.end()) page = pages_.find(head.path());
    if (page == pages_.end()) return {404, "text/plain", "not found\n"};
    return page->second();
  }

  const Pages& pages_;
  ServerStream& stream_;
  std::string body_;
  size_t sent_ = 0;
  bool ended_ = false;
};

AdminServer::AdminServer(EventLoop& loop, Pages pages)
    : loop_(loop),
      pages_(std::move(pages)),
      sessions_context_{loop, *this, messages_, {},
                        [](void* self, Http1ServerSession& session) {
                          auto* server = static_cast<AdminServer*>(self);
                          server->loop_.deleteLater(server->sessions_.take(session));
                        },
                        this} {}

AdminServer::~AdminServer() = default;

Result<std::unique_ptr<AdminServer>> AdminServer::create(EventLoop& loop, UniqueFd listening,
                                                         Pages pages) {
  std::unique_ptr<AdminServer> server(new AdminServer(loop, std::move(pages)));
  AdminServer* self = server.get();
  auto listener =
      Listener::create(loop, std::move(listening), [self](UniqueFd fd, const Address& peer) {
        auto session =
            std::make_unique<Http1ServerSession>(self->sessions_context_, std::move(fd), peer, 0);
        self->sessions_.pushFront(std::move(session)).start();
      });
  if (!listener) return fail(std::move(listener.error()));
  server->listener_ = std::move(*listener);
  return server;
}

StreamHandler& AdminServer::beginHandler(ServerStream& stream) {
  return *std::make_unique<Handler>(pages_, stream).release();
}

void AdminServer::endHandler(StreamHandler& handler) {
  std::unique_ptr<Handler> ended(static_cast<Handler*>(&handler));
}

}  // namespace flamegate::proxy
