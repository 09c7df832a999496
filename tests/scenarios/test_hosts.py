"""Hosts that no route is for."""

from rig import ProxyCase


class Hosts(ProxyCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        match = {"prefix": "/known"}
        hosts = ["a.test", "*.b.test"]
        cls.proxy.reload({"routes": [{"hosts": hosts, "match": match, "cluster": "app"}]})

    def test_a_host_that_no_route_is_for_is_421(self):  # RFC 9110 §15.5.20
        for host in ("other.test", "b.test", "127.0.0.1"):
            self.assertEqual(self.fetch(target="/known", host=host).status, 421, host)
        self.assertEqual(self.app.targets(), [])
        record = self.proxy.access_log(1, "/known")[0]
        self.assertEqual(record["reason"], "unknown-host")

    def test_a_path_that_no_route_is_for_is_404(self):
        for host in ("a.test", "A.test:80", "x.b.test"):
            self.assertEqual(self.fetch(target="/known", host=host).status, 200, host)
            self.assertEqual(self.fetch(target="/other", host=host).status, 404, host)
