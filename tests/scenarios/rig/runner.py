"""Runs the test files of one folder and prints one closing line. Arguments filter by test name."""

import pathlib
import sys
import time
import unittest


class _Result(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        self._began = time.monotonic()

    def stopTest(self, test):
        took = time.monotonic() - self._began
        if took > 3:
            self.stream.writeln(f"slow: {test.id()} took {took:.1f} s")
        super().stopTest(test)


def _select(suite, filters):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _select(test, filters)
        elif not filters or any(part in test.id() for part in filters):
            yield test


def main(folder):
    """`folder` holds test_*.py; every argument selects the tests whose name contains it."""
    folder = pathlib.Path(folder)
    filters = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    found = unittest.TestLoader().discover(str(folder), "test_*.py", top_level_dir=str(folder))
    suite = unittest.TestSuite(_select(found, filters))
    runner = unittest.TextTestRunner(verbosity=2 if "-v" in sys.argv else 1, resultclass=_Result)
    result = runner.run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    passed = result.testsRun - failed - skipped
    for test, _ in result.failures + result.errors:
        print(f"failed: {test.id()}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or result.testsRun == 0 else 0
