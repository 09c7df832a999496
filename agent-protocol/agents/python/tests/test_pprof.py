"""The written profile, read by Go's pprof."""

import gzip
import shutil
import subprocess
import sys
import tempfile
import unittest

from flamegate import _sampler

from .support import pprof
from .support.application import spin

MS = 1_000_000


class Shop:
    def ordered(self):
        spin(0.05)


def profile_of(function, hidden=""):
    capture = _sampler.start(MS, 10_000 * MS)
    function()
    capture.stop()
    data = capture.pprof("main thread", "python3", hidden, ("a comment",), False)
    capture.release()
    return data


class Encoding(unittest.TestCase):
    @unittest.skipUnless(
        shutil.which("go"),
        "Go is not installed: only this project's own reader checks the encoding",
    )
    def test_go_reads_it(self):
        with tempfile.NamedTemporaryFile(suffix=".pb.gz") as file:
            file.write(gzip.compress(profile_of(Shop().ordered)))
            file.flush()
            raw, top, tags, traces = (
                subprocess.run(
                    ["go", "tool", "pprof", option, file.name],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
                for option in ("-raw", "-top", "-tags", "-traces")
            )
        for expected in (
            "Comment: a comment",
            "PeriodType: wall nanoseconds",
            "Period: 1000000",
            "Time: 20",
            "samples/count wall/nanoseconds[dflt] cpu/nanoseconds",
            "state:[running] thread:[main thread]",
            "timestamp_ns:[",
        ):
            self.assertIn(expected, raw)
        self.assertIn("spin", top)
        self.assertIn("main thread", tags)
        self.assertIn("ordered" if sys.version_info < (3, 11) else "Shop.ordered", traces)

    def test_hidden_files_leave_no_frames(self):
        visible = pprof.read(profile_of(Shop().ordered))
        hidden = pprof.read(profile_of(Shop().ordered, hidden=spin.__code__.co_filename))
        self.assertIn("spin", visible.functions())
        self.assertNotIn("spin", hidden.functions())
        self.assertTrue(all(sample.stack for sample in hidden.samples))

    def test_long_and_strange_names_are_cut_or_replaced(self):
        space = {"spin": spin}
        name = "\u00e9" * 2000
        exec(compile(f"def {name}():\n    spin(0.02)", "file \udc80", "exec"), space)
        profile = pprof.read(profile_of(space[name]))
        cut = next(f for f in profile.functions() if f.startswith("\u00e9"))
        self.assertLessEqual(len(cut.encode()), 1024)
        self.assertTrue(cut.endswith("\u00e9\u2026"))
        self.assertIn("?", {frame.file for sample in profile.samples for frame in sample.stack})

    def test_functions_of_one_name_in_two_files_stay_apart(self):
        spaces = [{"spin": spin} for _ in range(2)]
        for i, space in enumerate(spaces):
            exec(compile("def same():\n    spin(0.02)", f"file{i}.py", "exec"), space)
        profile = pprof.read(profile_of(lambda: [space["same"]() for space in spaces]))
        files = {
            frame.file
            for sample in profile.samples
            for frame in sample.stack
            if frame.function == "same"
        }
        self.assertEqual(files, {"file0.py", "file1.py"})


if __name__ == "__main__":
    unittest.main()
