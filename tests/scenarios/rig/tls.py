"""Certificates for tests, and clients that speak TLS."""

import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile

from .client import Client
from .message import Reader
from .upstream import Upstream


def _openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=30)


_KEYS = {"ec": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "rsa": ["-newkey", "rsa:2048"]}


class Authority:
    """Issues certificates into a folder of its own. Use as a context manager, or close()."""

    def __init__(self, name="authority"):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="flamegate-tls-"))
        self.cert, self.key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        self._issued = 0
        _openssl(
            *("req", "-x509", *_KEYS["ec"], "-nodes", "-days", "2", "-subj", f"/CN={name}"),
            *("-keyout", str(self.key), "-out", str(self.cert)),
        )

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def issue(self, *names, key="ec", into=None):
        """The files of a new certificate for these names: {"cert": …, "key": …}. `into`: a folder
        where they are called site.pem and site.key."""
        self._issued += 1
        base = (into or self.directory) / ("site" if into else f"leaf-{self._issued}")
        pair = {"cert": f"{base}.pem", "key": f"{base}.key"}
        alternatives = ",".join(name if ":" in name else f"DNS:{name}" for name in names)
        _openssl(
            *("req", "-x509", *_KEYS[key], "-nodes", "-days", "2", "-subj", f"/CN={names[0][:60]}"),
            *("-addext", f"subjectAltName={alternatives}", "-addext", "basicConstraints=CA:FALSE"),
            *("-CA", str(self.cert), "-CAkey", str(self.key)),
            *("-keyout", pair["key"], "-out", pair["cert"]),
        )
        return pair

    def client_context(self, alpn=("http/1.1",), identity=None):
        """What a client that believes this authority alone works with."""
        context = ssl.create_default_context(cafile=str(self.cert))
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if identity:
            context.load_cert_chain(identity["cert"], identity["key"])
        return context

    def server_context(self, pair, client_ca=None, alpn=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair["cert"], pair["key"])
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(client_ca)
        return context


class TlsUpstream(Upstream):
    """An application that speaks TLS with the given context. `handshakes` are those that were
    completed, `failures` the others."""

    def __init__(self, context, respond=None):
        self.context = context
        self.handshakes = []
        self.failures = []
        super().__init__(respond)

    def _serve(self, connection):
        try:
            connection.sock = self.context.wrap_socket(connection.sock, server_side=True)
        except OSError as error:
            self.failures.append(error)
            connection.close()
            return
        connection.reader = Reader(connection.sock)
        self.handshakes.append(connection.sock)
        super()._serve(connection)


def tls_client(port, context, name="a.test", session=None):
    """A Client over TLS that asks for `name` and verifies it."""
    return Client(
        port, wrap=lambda sock: context.wrap_socket(sock, server_hostname=name, session=session)
    )


def names_shown(port, context, name):
    """The DNS names of the certificate that a client is shown; raises what the handshake raises."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        with context.wrap_socket(sock, server_hostname=name) as tls:
            return [value for kind, value in tls.getpeercert()["subjectAltName"] if kind == "DNS"]
