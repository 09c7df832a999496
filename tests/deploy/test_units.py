"""The systemd units: what systemd-analyze says of them."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

UNITS = pathlib.Path(__file__).resolve().parents[2] / "deploy/systemd"
# In tenths, as `systemd-analyze security` counts; a unit without any hardening has 96.
EXPOSURE_MAX = 20


def analyze(*arguments):
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, check=False
    )


class Units(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = self.directory / "flamegate"
        shutil.copy("/bin/true", program)
        for unit in UNITS.iterdir():
            text = unit.read_text().replace("/usr/bin/flamegate", str(program))
            (self.directory / unit.name).write_text(text)

    def path(self, name):
        return str(self.directory / name)

    def test_systemd_has_nothing_to_say_against_them(self):
        result = analyze(
            "verify", "--man=no", self.path("flamegate.service"), self.path("flamegate.socket")
        )
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_an_unknown_key_would_be_found(self):
        unit = self.directory / "flamegate.service"
        unit.write_text(unit.read_text().replace("NoNewPrivileges", "NoNewPrivilege"))
        self.assertIn("NoNewPrivilege", analyze("verify", "--man=no", str(unit)).stderr)

    def test_the_service_is_exposed_little(self):
        result = analyze(
            "security",
            "--offline=yes",
            f"--threshold={EXPOSURE_MAX}",
            self.path("flamegate.service"),
        )
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_it_holds_one_capability(self):
        result = analyze(
            "security", "--offline=yes", "--json=short", self.path("flamegate.service")
        )
        held = [
            check["json_field"]
            for check in json.loads(result.stdout)
            if check["set"] is False and check["json_field"].startswith("CapabilityBoundingSet")
        ]
        self.assertEqual(len(held), 1, held)

    def test_it_is_stopped_later_than_it_drains(self):
        stop = int(re.search(r"TimeoutStopSec=(\d+)s", (UNITS / "flamegate.service").read_text())[1])
        self.assertGreater(stop, 30)  # the default of shutdown.drain


if __name__ == "__main__":
    unittest.main()
