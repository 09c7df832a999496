"""The launcher: servers run unchanged, and their applications are profiled."""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from .support.control import Control
from .support.orders import KEY, SECRET, fields_of, header, new_id
from .support.server import PACKAGE, Server

GUNICORN = shutil.which("gunicorn", path="/usr/bin:" + os.environ.get("PATH", ""))


def has(module):
    return importlib.util.find_spec(module) is not None


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "flamegate", *arguments],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        **options,
    )


class LauncherCase(unittest.TestCase):
    def setUp(self):
        self.control = Control(KEY)
        self.addCleanup(self.control.close)
        secret = tempfile.NamedTemporaryFile()
        self.addCleanup(secret.close)
        secret.write(SECRET)
        secret.flush()
        self.environ = {
            "FLAMEGATE_SECRET_FILE": secret.name,
            "FLAMEGATE_URL": self.control.url,
            "FLAMEGATE_SERVICE": "shop",
        }

    def server(self, *command, **environ):
        return Server(command, {**self.environ, **environ}, cwd=PACKAGE)

    def profile(self, server, path="/"):
        profile_id = new_id()
        status, headers, body = server.get(path, header(profile_id))
        self.assertEqual(status, 200, body)
        acks = [value for name, value in headers if name.lower() == "flamegate-ack"]
        self.assertEqual([fields_of(ack)["st"] for ack in acks], ["started"], server.log())
        return self.control.upload(profile_id), body


class Servers(LauncherCase):
    def check_own_server(self, name, module):
        if not has(module):
            self.skipTest(f"{module} is not installed")
        with self.server(sys.executable, "-m", "tests.servers", name, "{port}") as server:
            upload, _ = self.profile(server)
            self.assertIn("application", upload.profile.functions())

    def test_wsgiref(self):
        self.check_own_server("wsgiref", "wsgiref")

    def test_werkzeug(self):
        self.check_own_server("werkzeug", "werkzeug")

    def test_waitress(self):
        self.check_own_server("waitress", "waitress")

    @unittest.skipUnless(has("flask"), "flask is not installed")
    def test_flask_tells_its_route(self):
        with self.server(sys.executable, "-m", "tests.servers", "flask", "{port}") as server:
            upload, body = self.profile(server, "/orders/7")
            self.assertEqual((upload.meta["route"], body), ("/orders/<number>", b"7"))

    @unittest.skipUnless(has("django"), "django is not installed")
    def test_django_tells_its_route(self):
        with self.server(sys.executable, "-m", "tests.servers", "django", "{port}") as server:
            upload, body = self.profile(server, "/orders/7")
            self.assertEqual((upload.meta["route"], body), ("/orders/<number>", b"7"))


@unittest.skipUnless(GUNICORN and has("gunicorn"), "gunicorn is not installed")
class Gunicorn(LauncherCase):
    def gunicorn(self, *options, application="tests.servers:application", **environ):
        # This interpreter, whatever the script's first line names. A worker that gunicorn tells to
        # end before it has set up its signals does not hear it, and the time-out decides.
        return self.server(
            sys.executable,
            GUNICORN,
            *options,
            "--graceful-timeout",
            "5",
            "-b",
            "unix:{bind}",
            application,
            **environ,
        )

    def check(self, *options):
        with self.gunicorn(*options) as server:
            upload, body = self.profile(server)
            self.assertEqual(upload.meta["pid"], int(body))
            self.assertIn("application", upload.profile.functions())
            self.assertNotIn("flamegate:", server.log())
            self.assertEqual(server.stop(), 0)

    def test_sync_workers(self):
        self.check()

    def test_threaded_workers(self):
        self.check("-k", "gthread", "--threads", "4", "-w", "2")

    def test_preloaded_applications(self):
        self.check("--preload", "-w", "2")

    def test_a_worker_that_ends_after_its_request_uploads_first(self):
        with self.gunicorn("--max-requests", "1") as server:
            for _ in range(3):
                self.profile(server)

    def test_the_command_keeps_its_process_and_signals(self):
        with self.gunicorn() as server:
            with open(f"/proc/{server.process.pid}/cmdline") as cmdline:
                self.assertIn("gunicorn", cmdline.read())
            before = int(server.get()[2])
            server.process.send_signal(signal.SIGHUP)  # gunicorn: new workers
            until = time.monotonic() + 20
            while int(server.get()[2]) == before and time.monotonic() < until:
                time.sleep(0.05)
            self.assertNotEqual(int(server.get()[2]), before)
            self.assertEqual(server.stop(signal.SIGINT), 0)

    def test_disabled(self):
        with self.gunicorn(FLAMEGATE_DISABLE="1") as server:
            headers = dict(server.get("/", header(new_id()))[1])
            self.assertEqual(fields_of(headers["Flamegate-Ack"])["st"], "off")

    @unittest.skipUnless(has("klaus"), "klaus is not installed")
    def test_klaus(self):
        with tempfile.TemporaryDirectory() as repository:
            git = ["git", "-C", repository, "-c", "user.name=n", "-c", "user.email=e@x"]
            subprocess.run([*git[:3], "init", "-q"], check=True)
            with open(os.path.join(repository, "file.py"), "w") as file:
                file.write("x = 1\n" * 500)
            subprocess.run([*git, "add", "."], check=True)
            subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
            name = os.path.basename(repository)
            environ = {"KLAUS_REPOS": repository, "KLAUS_SITE_NAME": "test"}
            with self.gunicorn(
                "-k",
                "gthread",
                "--threads",
                "2",
                application="klaus.contrib.wsgi:application",
                **environ,
            ) as server:
                upload, body = self.profile(server, f"/{name}/blob/HEAD/file.py")
        files = {
            re.sub(r".*/", "", frame.file)
            for sample in upload.profile.samples
            for frame in sample.stack
        }
        print(
            f"\nklaus: {len(upload.profile.samples)} samples in "
            f"{upload.profile.duration_nanos / 1e6:.0f} ms, "
            f"route {upload.meta.get('route')}"
        )
        self.assertTrue(files & {"views.py", "highlighting.py"}, files)
        self.assertEqual(upload.meta["route"], "/<repo>/blob/<rev>/<path:path>")


class Command(unittest.TestCase):
    def test_exit_statuses_are_the_commands(self):
        self.assertEqual(run("sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(run("--", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)

    def test_wrong_use(self):
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run("--unknown").returncode, 2)
        self.assertEqual(run("--help").returncode, 0)
        missing = run("no-such-command")
        self.assertEqual(missing.returncode, 127)
        self.assertIn("no-such-command: command not found", missing.stderr)

    def test_the_hidden_sitecustomize_is_imported_and_paths_stay(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "sitecustomize.py"), "w") as file:
                file.write("import sys\nsys.was_customized = True\n")
            result = run(
                sys.executable,
                "-c",
                "import sys; print(sys.was_customized, 'flamegate' in sys.modules, sys.path[1:3])",
                env={**os.environ, "PYTHONPATH": directory},
            )
            site = os.path.join(PACKAGE, "flamegate", "site")
            self.assertEqual(
                result.stdout.strip(), f"True False {[site, directory]}", result.stderr
            )

    def test_the_package_is_found_where_it_is(self):
        result = subprocess.run(
            [
                sys.executable,
                "-c",
                "import tempfile, os; os.chdir(tempfile.gettempdir())\n"
                "from wsgiref.simple_server import make_server\n"
                "apps = [make_server('127.0.0.1', 0, lambda e, s: []).get_app() for _ in "
                "range(2)]\n"
                "print([app.flamegate_wrapped for app in apps])",
            ],
            env={
                **{k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
                "PYTHONPATH": os.path.join(PACKAGE, "flamegate", "site"),
            },
            cwd="/",
            capture_output=True,
            text=True,
        )
        self.assertEqual(result.stdout.strip(), "[True, True]", result.stderr)

    def test_asgi_applications_are_left_alone(self):
        code = (
            "import sys; sys.path[:0] = ['flamegate/site', '.']\n"
            "import flamegate_hooks, tests.servers\n"
            "print(flamegate_hooks._wrapped(tests.servers.asgi) is tests.servers.asgi)"
        )
        self.assertEqual(
            subprocess.run(
                [sys.executable, "-c", code], cwd=PACKAGE, capture_output=True, text=True
            ).stdout.strip(),
            "True",
        )


if __name__ == "__main__":
    unittest.main()
