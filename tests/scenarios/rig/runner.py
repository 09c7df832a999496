"""Runs the test files of one folder and prints one closing line. Arguments filter by test name."""

import os
import pathlib
import sys
import time
import unittest

from . import process


class _Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

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
    if not os.access(process.binary(), os.X_OK):
        print(f"{process.binary()} is not there: build it, or name another with FLAMEGATE_BIN")
        return 2
    folder = pathlib.Path(folder)
    filters = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    found = unittest.TestLoader().discover(str(folder), "test_*.py", top_level_dir=str(folder))
    suite = unittest.TestSuite(_select(found, filters))
    runner = unittest.TextTestRunner(verbosity=2 if "-v" in sys.argv else 1, resultclass=_Result)
    result = runner.run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for test, _ in result.failures + result.errors:
        print(f"failed: {test.id()}")
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed or result.testsRun == 0 else 0
