"""TLS on listeners: choice of certificates, sessions, client certificates, faults in files."""

import json
import pathlib
import ssl
import subprocess
import tempfile
import threading
import unittest

from rig import Authority, Deadline, Proxy, Upstream, binary, echo, names_shown, tls_client, wait_until


def listener(proxy, tls, **more):
    return {"listeners": [{"address": f"127.0.0.1:{proxy.port}", "tls": tls, **more}]}


class TlsCase(unittest.TestCase):
    """Sets `authority`, `app` and `proxy`; TLS gives the listener's `tls` section."""

    CONFIG = {}

    @classmethod
    def tls(cls):
        return {"certificates": [cls.authority.issue("a.test")]}

    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)
        cls.app = Upstream(echo)
        cls.addClassCleanup(cls.app.close)
        cls.proxy = Proxy(cls.app, cls.CONFIG)
        cls.proxy.config.update(listener(cls.proxy, cls.tls()))
        cls.proxy.start()
        cls.addClassCleanup(cls.proxy.stop)

    def connect(self, context=None, name="a.test", session=None):
        context = context or self.authority.client_context()
        client = tls_client(self.proxy.port, context, name, session)
        self.addCleanup(client.close)
        return client


class Certificates(TlsCase):
    CONFIG = {"workers": 2}

    @classmethod
    def tls(cls):
        issue = cls.authority.issue
        return {
            "certificates": [
                issue("a.test"),
                issue("*.b.test"),
                issue("x.b.test", "c.test"),
                issue("a.test", key="rsa"),
            ]
        }

    def test_the_certificate_with_the_asked_name_is_shown(self):  # RFC 6066 §3
        context = self.authority.client_context()
        for name, shown in [
            ("a.test", "a.test"),
            ("C.test", "x.b.test"),
            ("y.b.test", "*.b.test"),
            ("x.b.test", "x.b.test"),
        ]:
            self.assertEqual(names_shown(self.proxy.port, context, name)[0], shown)

    def test_a_request_for_another_certificate_is_misdirected(self):  # RFC 9110 §7.4, §15.5.20
        self.app.reset_log()
        with self.connect() as client:
            for host in ("c.test", "C.test:443", "y.b.test"):
                self.assertEqual(client.fetch(target="/no", host=host).status, 421)
            for host in ("a.test", "127.0.0.1", "internal"):
                self.assertEqual(client.fetch(target="/yes", host=host).status, 200)
        with self.connect(name="y.b.test") as client:
            self.assertEqual(client.fetch(target="/yes", host="x.b.test").status, 200)
        self.assertNotIn("/no", self.app.targets())

    def test_a_client_that_knows_rsa_alone_is_shown_that(self):
        context = self.authority.client_context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("ECDHE-RSA-AES128-GCM-SHA256")
        with self.connect(context) as client:
            self.assertEqual(client.fetch(target="/rsa").body, b"/rsa")

    def test_requests_are_served_and_the_application_knows_of_tls(self):
        self.app.reset_log()
        with self.connect() as client:
            self.assertEqual(client.fetch(target="/1").body, b"/1")
            self.assertEqual(client.fetch("POST", "/2", body=b"x" * 100000).body, b"/2")
        self.assertEqual(self.app.requests[0].get("X-Forwarded-Proto"), "https")

    def test_curl_is_served(self):
        answer = subprocess.run(
            ["curl", "-sS", "--cacert", str(self.authority.cert), "--http1.1"]
            + ["--resolve", f"a.test:{self.proxy.port}:127.0.0.1"]
            + [f"https://a.test:{self.proxy.port}/curl"],
            capture_output=True,
            check=True,
            timeout=30,
        )
        self.assertEqual(answer.stdout, b"/curl")

    def test_a_client_without_a_common_protocol_gets_the_alert_for_it(self):  # RFC 7301 §3.2
        with self.assertRaisesRegex(ssl.SSLError, "(?i)no.application.protocol"):
            self.connect(self.authority.client_context(alpn=["foo"]))

    def test_clear_text_on_a_tls_listener_ends_the_connection(self):
        with self.proxy.connect() as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            self.assertNotIn(b"HTTP/1.1 2", client.rest())

    def test_sessions_are_resumed_by_every_worker_and_over_reloads(self):  # RFC 5077, RFC 8446 §2.2
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.authority.client_context()
            context.maximum_version = version
            with self.connect(context) as client:
                client.fetch()
                session = client.sock.session
            for attempt in range(8):
                with self.connect(context, session=session) as client:
                    self.assertTrue(client.sock.session_reused, f"{version} {attempt}")
                    self.assertEqual(client.fetch().status, 200)
            self.proxy.reload()
            with self.connect(context, session=session) as client:
                self.assertTrue(client.sock.session_reused, f"{version} after a reload")

    def test_old_versions_are_refused(self):
        context = self.authority.client_context()
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.connect(context)


class ClientCertificates(TlsCase):
    CONFIG = {
        "profiling": {
            "access": [
                {"client_cert": {"san": "*.dev.test"}, "allow": ["view", "trigger", "manage"]}
            ],
            "public_url": "https://a.test",
        }
    }

    @classmethod
    def tls(cls):
        return {**super().tls(), "client_ca": str(cls.authority.cert), "client_auth": "optional"}

    def status(self, identity, name="a.test"):
        """What the API answers a client with this certificate; the application's echo is 200."""
        context = self.authority.client_context(identity=identity)
        with self.connect(context) as client:
            path = "/__flamegate/api/v1/status"
            response = client.fetch(target=path, host=name)
            return "application" if response.body == path.encode() else response.status

    def test_the_names_of_a_verified_certificate_give_rights(self):
        self.assertEqual(self.status(self.authority.issue("me.dev.test")), 200)
        self.assertEqual(self.status(self.authority.issue("other.test", "you.dev.test")), 200)
        self.assertEqual(self.status(self.authority.issue("dev.test")), "application")
        self.assertEqual(self.status(self.authority.issue("x.me.dev.test")), "application")
        self.assertEqual(self.status(None), "application")

    def test_a_certificate_counts_for_our_own_hosts_only(self):
        identity = self.authority.issue("me.dev.test")
        self.assertEqual(self.status(identity, name="evil.test"), "application")

    def test_a_certificate_of_others_is_refused(self):
        with Authority("others") as others:
            context = self.authority.client_context(identity=others.issue("me.dev.test"))
            with self.assertRaises((ssl.SSLError, OSError, EOFError)):
                self.connect(context).fetch()

    def test_a_required_certificate_is_required(self):
        tls = self.proxy.config["listeners"][0]["tls"]
        self.proxy.reload(listener(self.proxy, {**tls, "client_auth": "required"}))
        try:
            with self.assertRaises((ssl.SSLError, OSError, EOFError)):
                self.connect().fetch()
            identity = self.authority.issue("any.test")
            with self.connect(self.authority.client_context(identity=identity)) as client:
                self.assertEqual(client.fetch().status, 200)
        finally:
            self.proxy.reload(listener(self.proxy, tls))


class Check(unittest.TestCase):
    """`flamegate check` finds what is wrong with certificates, and where it is written."""

    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)
        folder = tempfile.TemporaryDirectory(prefix="flamegate-tls-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def check(self, pair, **tls):
        file = self.folder / "flamegate.yaml"
        file.write_text(
            "listeners:\n  - address: 127.0.0.1:0\n    tls:\n"
            + f"      certificates:\n        - cert: {pair['cert']}\n          key: {pair['key']}\n"
            + "".join(f"      {name}: {json.dumps(value)}\n" for name, value in tls.items())
            + 'clusters: [{name: app, endpoints: ["127.0.0.1:1"]}]\n'
        )
        done = subprocess.run(
            [binary(), "check", "-c", str(file)], capture_output=True, text=True, timeout=30
        )
        return done.returncode, (done.stdout + done.stderr).replace(str(file), "FILE")

    def test_good_files_are_ok(self):
        self.assertEqual(self.check(self.authority.issue("a.test")), (0, "ok\n"))

    def test_each_fault_is_told_with_its_place(self):
        good, other = self.authority.issue("a.test"), self.authority.issue("b.test")
        turned = self.folder / "turned.pem"
        turned.write_text(
            self.authority.cert.read_text() + pathlib.Path(good["cert"]).read_text()
        )
        empty = self.folder / "empty.pem"
        empty.write_text("")
        base = "FILE:6:16: listeners[0].tls.certificates[0].key: "
        of_cert = "FILE:5:17: listeners[0].tls.certificates[0].cert: "
        for pair, message in [
            ({**good, "key": other["key"]}, f'{base}"{other["key"]}" does not belong to the certi'),
            ({**good, "cert": turned}, f'{of_cert}"{turned}" must begin with the certificate'),
            ({**good, "cert": empty}, f'{of_cert}"{empty}" holds no certificate in PEM form'),
            ({**good, "key": "/no"}, f'{base}cannot read "/no": No such file or directory'),
        ]:
            status, text = self.check(pair)
            self.assertEqual(status, 1, text)
            self.assertEqual(text[: len(message)], message)
        status, text = self.check(good, client_ca=str(empty))
        self.assertEqual(status, 1)
        self.assertIn("FILE:7:18: listeners[0].tls.client_ca: ", text)


class Renewal(TlsCase):
    """Files that change are put in use without a reload, and never at the cost of a handshake."""

    @classmethod
    def tls(cls):
        # As Kubernetes mounts a secret: site -> ..data -> a folder of this version.
        cls.versions = cls.authority.directory / "versions"
        cls.folder = cls.authority.directory / "current"
        first = cls.new_version("a.test", "v0.test")
        cls.folder.symlink_to(first)
        return {
            "certificates": [
                {"cert": str(cls.folder / "site.pem"), "key": str(cls.folder / "site.key")}
            ]
        }

    @classmethod
    def new_version(cls, *names):
        cls.versions.mkdir(exist_ok=True)
        folder = pathlib.Path(tempfile.mkdtemp(dir=cls.versions))
        cls.authority.issue(*names, into=folder)
        return folder

    def shown(self):
        return names_shown(self.proxy.port, self.authority.client_context(), "a.test")[-1]

    def swap(self, folder):
        link = self.authority.directory / "next"
        link.symlink_to(folder)
        link.rename(self.folder)

    def move_in(self, folder, *files):
        for file in files:
            (folder / file).rename(self.folder / file)

    def write_in(self, folder, file, data=None):
        (self.folder / file).write_bytes((folder / file).read_bytes() if data is None else data)

    def failures(self):
        return self.proxy.metric("flamegate_tls_renewal_failures_total")

    def assert_taken(self, name):
        wait_until(lambda: self.shown() == name, f"{name} is shown", 10)

    def assert_kept(self, name, break_it):
        before = self.failures()
        break_it()
        wait_until(lambda: self.failures() > before, "a failed renewal", 10)
        self.assertEqual(self.shown(), name)
        self.assertIn("what was read before stays in use", self.proxy.log())

    def test_a18_every_way_of_renewing(self):
        with _Handshaker(self) as handshaker, self.connect() as download:
            download.request("GET", "/slow").head()
            new = self.new_version("a.test", "v1.test")
            self.move_in(new, "site.key", "site.pem")
            self.assert_taken("v1.test")
            self.swap(self.new_version("a.test", "v2.test"))
            self.assert_taken("v2.test")
            new = self.new_version("a.test", "v3.test")
            self.write_in(new, "site.pem")
            self.write_in(new, "site.key")
            self.assert_taken("v3.test")
            new = self.new_version("a.test", "v4.test")
            self.assert_kept("v3.test", lambda: self.move_in(new, "site.pem"))
            self.move_in(new, "site.key")
            self.assert_taken("v4.test")

            self.assert_kept("v4.test", lambda: self.write_in(new, "site.pem", b"garbage"))
            other = self.new_version("a.test", "v5.test")
            self.assert_kept("v4.test", lambda: self.move_in(other, "site.key"))
            self.assert_kept("v4.test", lambda: (self.folder / "site.pem").unlink())
            self.swap(self.new_version("a.test", "v6.test"))
            self.assert_taken("v6.test")
            self.release.set()
            self.assertEqual(download.reader.take(8, Deadline(10)), b"longlast")
        self.assertEqual(handshaker.errors, [])
        self.assertGreater(handshaker.count, 50)

    def test_a_reload_with_a_broken_file_is_refused(self):
        before = self.shown()
        (self.folder / "site.pem").write_bytes(b"garbage")
        self.proxy.reload()
        self.assertEqual(self.proxy.metric("flamegate_reloads_failed_total"), 1)
        self.assertEqual(self.shown(), before)
        self.swap(self.new_version("a.test", "v7.test"))
        self.assert_taken("v7.test")

    def setUp(self):
        self.release = threading.Event()
        self.addCleanup(self.release.set)
        self.app.respond = self.respond

    def respond(self, request):
        """A slow download ends when the test says so."""
        if request.target != "/slow":
            return echo(request)
        request.connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nlong")
        self.release.wait(60)
        request.connection.send(b"last")
        request.connection.close()
        return None


class _Handshaker:
    """Opens a verified connection every 100 ms."""

    def __init__(self, case):
        self.case = case
        self.count = 0
        self.errors = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._over.set()
        self._thread.join()

    def _run(self):
        while not self._over.wait(0.1):
            try:
                self.case.shown()
                self.count += 1
            except (OSError, EOFError) as error:
                self.errors.append(error)
