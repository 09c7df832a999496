"""The application and the proxies: how each is configured to do the same work, and started.

One worker each, kept connections to the application, X-Forwarded-For added, no access log, TLS 1.3 with one
ECDSA certificate, HTTP/2 offered.
"""

import json
import os
import pathlib
import signal
import subprocess
import time

SMALL_BODY = "x" * 128
LARGE_BYTES = 1 << 20
BACKLOG = 4096

# What an application of today answers with beside the content.
RESPONSE_FIELDS = {
    "Cache-Control": "max-age=0, private, must-revalidate",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Set-Cookie": "session=c2FtcGxlLXNlc3Npb24tdmFsdWU; Path=/; HttpOnly; SameSite=Lax",
    "Vary": "Accept-Encoding, Cookie",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "X-Request-Id": "0f8d9a52-6b1e-4c6e-9d2a-7e5f3a1b2c4d",
}


def application(directory, port):
    """nginx, which answers /small from memory and /large from the page cache."""
    (directory / "large").write_bytes(os.urandom(LARGE_BYTES))
    fields = "".join(f"add_header {name} \"{value}\";" for name, value in RESPONSE_FIELDS.items())
    return _nginx(
        directory / "application.conf",
        f"""
        sendfile on; default_type text/html;
        server {{
          listen 127.0.0.1:{port} backlog={BACKLOG};
          location = /small {{ {fields} return 200 "{SMALL_BODY}"; }}
          location = /large {{ alias {directory}/large; }}
        }}""",
    )


def _nginx(path, http):
    # Started by root it would become another user, who can not enter our folder.
    user = "user root;" if os.getuid() == 0 else ""
    path.write_text(
        f"""daemon off; {user} worker_processes 1; pid {path}.pid; error_log {path}.log crit;
        events {{ worker_connections 8192; }}
        http {{ access_log off; keepalive_requests 4294967295; keepalive_timeout 1h;
          client_body_temp_path {path}.body; proxy_temp_path {path}.temp; fastcgi_temp_path {path}.f;
          uwsgi_temp_path {path}.u; scgi_temp_path {path}.s;
          {http} }}"""
    )
    return ["nginx", "-e", f"{path}.log", "-c", str(path)]


def nginx(place):
    tls = (
        f"ssl_certificate {place.certificate}; ssl_certificate_key {place.key}; ssl_protocols TLSv1.3;"
        if place.tls
        else ""
    )
    return _nginx(
        place.directory / "nginx.conf",
        f"""
        upstream application {{ server 127.0.0.1:{place.application_port}; keepalive 512;
          keepalive_requests 4294967295; }}
        server {{
          listen 127.0.0.1:{place.port} backlog={BACKLOG}{" ssl http2" if place.tls else ""}; {tls}
          location / {{
            proxy_pass http://application; proxy_http_version 1.1; proxy_max_temp_file_size 0;
            proxy_set_header Connection ""; proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
          }}
        }}""",
    )


def haproxy(place):
    tls = f" ssl crt {place.bundle} alpn h2,http/1.1 ssl-min-ver TLSv1.3" if place.tls else ""
    path = place.directory / "haproxy.cfg"
    path.write_text(
        f"""
global
  nbthread 1
defaults
  mode http
  option forwardfor
  http-reuse always
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen proxy
  bind 127.0.0.1:{place.port} backlog {BACKLOG}{tls}
  server application 127.0.0.1:{place.application_port}
"""
    )
    return ["haproxy", "-db", "-q", "-f", str(path)]


def nghttpx(place):
    front = f"-f127.0.0.1,{place.port}" + ("" if place.tls else ";no-tls")
    command = ["nghttpx", "--conf=/dev/null", "--workers=1", "--add-x-forwarded-for", front]
    command += [f"-b127.0.0.1,{place.application_port}", f"--backlog={BACKLOG}"]
    command += ["--accesslog-file=/dev/null", f"--errorlog-file={place.directory}/nghttpx.log"]
    if place.tls:
        command += ["--tls-min-proto-version=TLSv1.3", str(place.key), str(place.certificate)]
    return command


def h2o(place):
    tls = {"certificate-file": str(place.certificate), "key-file": str(place.key)}
    configuration = {
        "num-threads": 1,
        "max-connections": 8192,
        "error-log": "/dev/null",
        "listen": {"host": "127.0.0.1", "port": place.port, **({"ssl": tls} if place.tls else {})},
        "hosts": {
            "default": {
                "paths": {
                    "/": {
                        "proxy.reverse.url": f"http://127.0.0.1:{place.application_port}/",
                        "proxy.preserve-host": "ON",
                        "proxy.timeout.keepalive": 60000,
                    }
                }
            }
        },
        **({"user": "root"} if os.getuid() == 0 else {}),
    }
    path = place.directory / "h2o.yaml"
    path.write_text(json.dumps(configuration))
    return ["h2o", "-m", "worker", "-c", str(path)]


def flamegate(place):
    tls = {"certificates": [{"cert": str(place.certificate), "key": str(place.key)}]}
    if place.tls and place.http2:
        tls["alpn"] = ["h2", "http/1.1"]
    configuration = {
        "workers": 1,
        "listeners": [
            {"address": f"127.0.0.1:{place.port}", **({"tls": tls} if place.tls else {})}
        ],
        "clusters": [
            {"name": "application", "endpoints": [f"127.0.0.1:{place.application_port}"]}
        ],
        "access_log": {"path": "none"},
        "admin": "none",
        "store": {"kind": "memory"},
        "control": {"agents": {"address": "127.0.0.1:0"}},
        "limits": {"idle": "1h"},
    }
    path = place.directory / "flamegate.yaml"
    path.write_text(json.dumps(configuration))
    return [place.flamegate, "run", "-c", str(path)]


PROXIES = {
    "flamegate": flamegate,
    "nginx": nginx,
    "haproxy": haproxy,
    "nghttpx": nghttpx,
    "h2o": h2o,
}


class Server:
    """A process on one core, with its children. A context manager."""

    def __init__(self, command, core, log):
        self._command, self._core, self._log = command, core, log
        self._process = None

    def __enter__(self):
        self._process = subprocess.Popen(
            ["taskset", "-c", str(self._core), *self._command],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, "XDG_RUNTIME_DIR": str(pathlib.Path(self._log.name).parent)},
            start_new_session=True,
        )
        return self

    def __exit__(self, *unused):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
                self._process.wait(5)
                return
            except ProcessLookupError:
                return
            except subprocess.TimeoutExpired:
                pass

    def is_running(self):
        return self._process.poll() is None

    def cpu_seconds(self):
        """What the process and its children have used so far, in user space and in the kernel."""
        return sum(_cpu_seconds(pid) for pid in _family(self._process.pid))


def _cpu_seconds(pid):
    # The CPU-time clock of another process, as clock_getcpuclockid(3) makes it.
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def _family(pid):
    family = [pid]
    for member in family:
        for children in pathlib.Path(f"/proc/{member}/task").glob("*/children"):
            try:
                family += [int(child) for child in children.read_text().split()]
            except OSError:
                pass
    return family
