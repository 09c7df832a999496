"""Waiting: every wait has a deadline, and nothing waits for a fixed time."""

import time

DEFAULT_SECONDS = 10.0  # long: it only matters to a test that fails, or on a busy machine
POLL_SECONDS = 0.005


class Deadline:
    """A moment by which something has to have happened."""

    def __init__(self, seconds=DEFAULT_SECONDS):
        self._at = time.monotonic() + seconds

    def left(self):
        """Seconds left; raises once there are none."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline passed")
        return left

    def passed(self):
        return time.monotonic() >= self._at


def wait_until(condition, what, seconds=DEFAULT_SECONDS):
    """Polls `condition` until it returns something true, and returns that."""
    deadline = Deadline(seconds)
    while True:
        result = condition()
        if result:
            return result
        if deadline.passed():
            raise TimeoutError(f"did not happen within {seconds} s: {what}")
        time.sleep(POLL_SECONDS)
