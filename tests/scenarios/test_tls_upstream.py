"""TLS towards applications: whom it believes, what it shows, and how failures look."""

import ssl
import threading
import unittest

from rig import Authority, Deadline, Proxy, TlsUpstream, Upstream, echo, reply, wait_until


class TlsUpstreamCase(unittest.TestCase):
    """An application with a certificate for `names`, behind a proxy that believes its authority."""

    NAMES = ("localhost", "IP:127.0.0.1")
    CLUSTER = {}

    @classmethod
    def server_context(cls):
        return cls.authority.server_context(cls.authority.issue(*cls.NAMES))

    @classmethod
    def tls(cls):
        return {"ca": str(cls.authority.cert)}

    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)
        cls.app = TlsUpstream(cls.server_context(), echo)
        cls.addClassCleanup(cls.app.close)
        cls.proxy = Proxy(cls.app)
        cls.proxy.config["clusters"][0].update({"tls": cls.tls(), **cls.CLUSTER})
        cls.proxy.start()
        cls.addClassCleanup(cls.proxy.stop)

    def setUp(self):
        self.app.respond = echo
        self.app.reset_log()

    def assert_refused(self, reason):
        response = self.proxy.fetch(target="/refused")
        self.assertEqual(response.status, 502)
        record = self.proxy.access_log(1, "/refused")[-1]
        self.assertEqual(record["reason"], reason)
        self.assertEqual(self.app.targets(), [])


class Traffic(TlsUpstreamCase):
    def test_requests_and_bodies_pass_and_connections_are_kept(self):
        before = len(self.app.handshakes)
        for i in range(20):
            self.assertEqual(self.proxy.fetch(target=f"/{i}").body, f"/{i}".encode())
        body = bytes(range(256)) * 4000
        self.app.respond = lambda request: reply(body=request.body())
        for _ in range(5):
            self.assertEqual(self.proxy.fetch("POST", "/echo", body=body).body, body)
        self.assertLessEqual(len(self.app.handshakes) - before, 1)

    def test_a_post_may_be_the_first_request_of_a_connection(self):
        self.app.respond = lambda request: reply(body=request.body())
        for _ in range(5):
            self.app.drop_connections()
            self.assertEqual(self.proxy.fetch("POST", "/p", body=b"x" * 70000).body, b"x" * 70000)

    def test_sessions_are_resumed(self):
        for _ in range(3):
            self.app.drop_connections()
            self.assertEqual(self.proxy.fetch().status, 200)
        wait_until(lambda: self.app.handshakes[-1].session_reused, "a resumed session")

    def test_many_at_once(self):
        results = []

        def run():
            for _ in range(10):
                results.append(self.proxy.fetch(target="/many").body)

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [b"/many"] * 80)

    def test_a_body_that_ends_without_close_notify_is_cut(self):  # RFC 9112 §9.8
        def respond(request):
            request.connection.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npart")
            request.connection.close()

        self.app.respond = respond
        with self.proxy.connect() as client:
            client.request("GET", "/cut")
            with self.assertRaises((EOFError, OSError)):
                client.response()


class Names(TlsUpstreamCase):
    NAMES = ("app.test",)

    def test_a_certificate_for_another_name_is_refused(self):
        self.assert_refused("tls-verify")

    def test_the_name_can_be_written(self):
        tls = {**self.tls(), "sni": "app.test"}
        cluster = {**self.proxy.config["clusters"][0], "tls": tls}
        self.proxy.reload({"clusters": [cluster]})
        self.assertEqual(self.proxy.fetch(target="/named").body, b"/named")
        self.proxy.reload({"clusters": [{**cluster, "tls": self.tls()}]})


class Strangers(TlsUpstreamCase):
    @classmethod
    def tls(cls):
        return {}

    def test_the_systems_authorities_do_not_know_a_private_one(self):
        self.assert_refused("tls-verify")

    def test_verification_can_be_switched_off(self):
        cluster = {**self.proxy.config["clusters"][0], "tls": {"verify": False}}
        self.proxy.reload({"clusters": [cluster]})
        self.assertEqual(self.proxy.fetch(target="/any").body, b"/any")
        self.proxy.reload({"clusters": [{**cluster, "tls": {}}]})


class OwnCertificate(TlsUpstreamCase):
    @classmethod
    def server_context(cls):
        pair = cls.authority.issue(*cls.NAMES)
        return cls.authority.server_context(pair, client_ca=str(cls.authority.cert))

    @classmethod
    def tls(cls):
        return {**super().tls(), **cls.authority.issue("proxy.test")}

    def test_the_application_sees_our_certificate(self):
        self.assertEqual(self.proxy.fetch(target="/own").body, b"/own")
        names = self.app.handshakes[-1].getpeercert()["subjectAltName"]
        self.assertIn(("DNS", "proxy.test"), names)


class _Refuser(Upstream):
    """Answers whatever comes with a refusal in clear text, as HTTP servers do with TLS."""

    def _serve(self, connection):
        connection.reader.fill(Deadline(10))
        connection.send(reply(400, reason="Bad Request"))
        connection.close()


class ClearText(unittest.TestCase):
    def test_an_application_without_tls_is_told_from_one_that_is_down(self):
        app = _Refuser()
        self.addCleanup(app.close)
        with Proxy(app) as proxy:
            cluster = {**proxy.config["clusters"][0], "tls": {"verify": False}}
            proxy.reload({"clusters": [cluster]})
            self.assertEqual(proxy.fetch(target="/clear").status, 502)
            self.assertEqual(proxy.access_log(1, "/clear")[-1]["reason"], "tls-handshake")


class OldVersions(TlsUpstreamCase):
    @classmethod
    def server_context(cls):
        context = super().server_context()
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        return context

    def test_an_application_that_knows_old_versions_alone_is_refused(self):
        self.assert_refused("tls-handshake")
