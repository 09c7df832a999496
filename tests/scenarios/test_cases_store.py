"""Stores that are full, away, locked or damaged never hurt traffic (area E)."""

import json
import gzip
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

from rig import Application, ProfilingCase, Proxy, Redis, binary, echo, free_port, wait_until

LIMITS = {"limits": {"concurrent": 64, "per_minute": 100000, "per_route": 64}}


class StoreCase(unittest.TestCase):
    """Each test starts the program itself, with the store that it is about."""

    assert_profiled = ProfilingCase.assert_profiled

    def setUp(self):
        self.app = Application(echo)
        self.addCleanup(self.app.close)

    def start(self, store, **more):
        proxy = Proxy(self.app, {"store": store, "profiling": LIMITS, **more})
        proxy.start()
        self.addCleanup(proxy.stop)
        self.app.attach(proxy)
        return proxy

    def trigger(self, proxy, target="/"):
        response = proxy.fetch(target=f"{target}?pp=async-flamegraph", host="localhost")
        self.assertEqual((response.status, response.body), (200, target.encode()))
        return response

    def api(self, proxy, path):
        return proxy.fetch(target=f"/__flamegate/api/v1/{path}", host="localhost")

    def store_one(self, proxy):
        """A profile that is stored; its id."""
        proxy.wait_for_control()
        response = wait_until(lambda: self.profiled(proxy), "a profiled request", 10)
        profile_id = response.get("Profile-Id")
        self.wait_stored(proxy, profile_id)
        return profile_id

    def stores_now(self, proxy):
        response = self.trigger(proxy)
        if not response.has("Profile-Id"):
            return False
        answer = self.api(proxy, f"profiles/{response.get('Profile-Id')}?wait=1s")
        return answer.status == 200 and json.loads(answer.body)["state"] == "stored"

    def profiled(self, proxy):
        response = self.trigger(proxy)
        return response if response.has("Profile-Id") else None

    def wait_stored(self, proxy, profile_id):
        def stored():
            response = self.api(proxy, f"profiles/{profile_id}?wait=1s")
            return response.status == 200 and b'"stored"' in response.body

        wait_until(stored, f"{profile_id} is stored", 10)


@unittest.skipUnless(Redis.available(), "no redis-server")
class E02FullRedis(StoreCase):
    def redis_store(self, redis, **more):
        return {
            "kind": "redis",
            "redis": {"url": f"redis://127.0.0.1:{redis.port}/0", "timeout": "500ms", **more},
        }

    def test_every_key_is_ours_and_has_a_time_to_live(self):
        with Redis() as redis:
            redis.command("SET", "somebody:else", "1")
            proxy = self.start(self.redis_store(redis))
            profile_id = self.store_one(proxy)
            keys = [key for key in redis.keys() if key != b"somebody:else"]
            self.assertTrue(keys)
            self.assertTrue(all(key.startswith(b"fg:") for key in keys), keys)
            self.assertEqual(redis.keys_without_ttl(), [b"somebody:else"])
            body = redis.command("GET", "fg:{%s}:pprof" % profile_id)
            self.assertIn(b"render", gzip.decompress(body))

    def test_another_prefix_is_used_for_every_key(self):
        with Redis() as redis:
            self.store_one(self.start(self.redis_store(redis, key_prefix="other:")))
            self.assertTrue(all(key.startswith(b"other:") for key in redis.keys()))

    def test_a_full_redis_drops_profiles_and_nothing_else(self):
        with Redis("--maxmemory-policy", "noeviction") as redis:
            proxy = self.start(self.redis_store(redis))
            self.store_one(proxy)
            redis.command("CONFIG", "SET", "maxmemory", "1")
            for i in range(20):
                self.trigger(proxy, f"/full/{i}")
            wait_until(
                lambda: self.trigger(proxy).get("Profile-Skipped") in ("store-full", "store-down"),
                "the reason is told",
                10,
            )
            redis.command("CONFIG", "SET", "maxmemory", "0")
            wait_until(lambda: self.profiled(proxy), "profiles are stored again", 10)

    def test_a_profile_that_is_deleted_frees_its_keys(self):
        with Redis() as redis:
            proxy = self.start(self.redis_store(redis))
            profile_id = self.store_one(proxy)
            response = proxy.fetch(
                "DELETE", f"/__flamegate/api/v1/profiles/{profile_id}", host="localhost"
            )
            self.assertIn(response.status, (200, 204))
            self.assertEqual([key for key in redis.keys() if profile_id.encode() in key], [])


@unittest.skipUnless(Redis.available(), "no redis-server")
class E04Reconnecting(StoreCase):
    def url(self, redis, user="", password="", database=0):
        credentials = f"{user}:{urllib.parse.quote(password, safe='')}@" if password else ""
        return {
            "kind": "redis",
            "redis": {
                "url": f"redis://{credentials}127.0.0.1:{redis.port}/{database}",
                "timeout": "500ms",
            },
        }

    def test_a_restart_of_redis_is_survived_with_its_password(self):
        password = "p@ss:w/ord%#1"
        with Redis("--requirepass", password, password=password) as redis:
            proxy = self.start(self.url(redis, password=password))
            self.store_one(proxy)
            redis.stop()
            for _ in range(5):
                self.trigger(proxy)
            self.assertIn(self.api(proxy, "profiles").status, (200, 503))
            redis.start()
            # Until control has connected again uploads are answered 503, and agents try again.
            wait_until(lambda: self.stores_now(proxy), "a profile is stored again", 20)
            for text in (password, urllib.parse.quote(password, safe="")):
                self.assertNotIn(text, proxy.log())

    def test_a_killed_connection_logs_in_and_selects_again(self):
        with Redis("--requirepass", "secret", password="secret") as redis:
            proxy = self.start(self.url(redis, password="secret", database=3))
            self.store_one(proxy)
            redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            self.store_one(proxy)
            self.assertEqual(redis.keys(0), [])
            self.assertTrue(redis.keys(3))

    def test_a_user_of_an_access_list_works(self):
        with Redis() as redis:
            redis.command(
                "ACL",
                "SETUSER",
                "gate",
                "on",
                ">s3cret",
                "~fg:*",
                "&*",
                "+@all",
                "-@admin",
                "-@dangerous",
            )
            self.store_one(self.start(self.url(redis, "gate", "s3cret")))

    def test_a_wrong_password_is_said_without_telling_it(self):
        with Redis("--requirepass", "right", password="right") as redis:
            proxy = self.start(self.url(redis, password="wr0ngpassword"))
            wait_until(
                lambda: self.trigger(proxy).get("Profile-Skipped") == "store-down",
                "the reason is told",
                10,
            )
            self.assertRegex(proxy.log().lower(), "auth|password|wrongpass")
            self.assertNotIn("wr0ngpassword", proxy.log())

    def test_a_redis_that_hangs_is_like_one_that_is_down(self):
        with socket.create_server(("127.0.0.1", free_port())) as silent:
            port = silent.getsockname()[1]
            store = {
                "kind": "redis",
                "redis": {"url": f"redis://127.0.0.1:{port}/0", "timeout": "200ms"},
            }
            proxy = self.start(store)
            wait_until(
                lambda: self.trigger(proxy).get("Profile-Skipped") == "store-down",
                "the reason is told",
                10,
            )


class E06DamagedFiles(StoreCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="flamegate-store-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.path = self.directory / "store.db"
        self.store = {"kind": "embedded", "path": str(self.path)}

    def crash(self, proxy):
        proxy.tolerates_crash = True
        control = proxy.control_pid()
        for pid in (proxy.pid, control):
            os.kill(pid, signal.SIGKILL)
        proxy.wait_for_exit()

    def test_what_was_acknowledged_survives_a_crash(self):
        rounds = random.Random(1)
        known = []
        for _ in range(3):
            proxy = self.start(self.store)
            known.append(self.store_one(proxy))
            for profile_id in known:
                self.wait_stored(proxy, profile_id)
            stop = threading.Event()

            def write(proxy=proxy, stop=stop):
                while not stop.is_set():
                    try:
                        self.trigger(proxy)
                    except (OSError, EOFError, AssertionError):
                        return

            thread = threading.Thread(target=write)
            thread.start()
            count = rounds.randrange(5, 40)
            wait_until(lambda c=count: len(self.app.uploads) >= c, "uploads")
            self.crash(proxy)
            stop.set()
            thread.join()
            self.app.uploads.clear()

    def start_on_damaged(self):
        proxy = self.start(self.store)
        self.assertEqual(proxy.fetch().status, 200)
        return proxy

    def test_a_file_that_lost_its_end_is_opened(self):
        proxy = self.start(self.store)
        self.store_one(proxy)
        self.crash(proxy)
        newest = max(self.directory.iterdir(), key=lambda path: path.stat().st_mtime)
        os.truncate(newest, max(0, newest.stat().st_size - 1024))
        self.store_one(self.start_on_damaged())

    def test_an_empty_and_a_foreign_file_do_not_stop_traffic(self):
        self.path.write_bytes(b"")
        proxy = self.start_on_damaged()
        self.store_one(proxy)
        self.crash(proxy)
        for path in self.directory.iterdir():
            path.unlink()
        self.path.write_bytes(b"this is no database" * 1000)
        self.start_on_damaged()

    def test_a_second_program_on_the_same_file_refuses(self):
        first = self.start(self.store)
        profile_id = self.store_one(first)
        second = self.start(self.store)

        def told():
            return any(word in second.log().lower() for word in ("locked", "in use", "another"))

        wait_until(told, "the second one says why", 10)
        self.assertEqual(second.fetch().status, 200)
        self.wait_stored(first, profile_id)

    def test_a_folder_that_cannot_be_written_does_not_stop_traffic(self):
        store = {"kind": "embedded", "path": "/proc/flamegate.db"}
        proxy = self.start(store)
        wait_until(
            lambda: self.trigger(proxy).get("Profile-Skipped") in ("store-down", "control-down"),
            "the reason is told",
            10,
        )

    def test_profiles_live_on_after_a_restart_in_order(self):
        proxy = self.start(self.store)
        profile_id = self.store_one(proxy)
        proxy.signal(signal.SIGTERM)
        self.assertEqual(proxy.wait_for_exit(), 0)
        self.wait_stored(self.start(self.store), profile_id)

    def test_the_command_line_reads_a_stored_profile(self):
        proxy = self.start(self.store)
        profile_id = self.store_one(proxy)
        result = subprocess.run(
            [binary(), "get", profile_id, "-c", str(proxy.config_path), "--format", "collapsed"],
            capture_output=True,
            timeout=10,
            check=False,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"main;handle;query 7", result.stdout)
