"""Test cases with an agent and a control of their own."""

import tempfile
import unittest

from flamegate.agent import Agent
from flamegate.middleware import wrap

from .application import ack_of, call, spin
from .control import Control
from .orders import KEY, SECRET, fields_of, header, new_id


def app_part(seconds):
    spin(seconds)


def simple(environ, start_response):
    app_part(0.02)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]


class AgentCase(unittest.TestCase):
    """An agent with a secret, uploading to a control of its own."""

    environment = {}

    def setUp(self):
        self.control = Control(KEY)
        self.addCleanup(self.control.close)
        secret = tempfile.NamedTemporaryFile()
        self.addCleanup(secret.close)
        secret.write(SECRET + b"\n")
        secret.flush()
        self.agent = self.make_agent(FLAMEGATE_SECRET_FILE=secret.name)

    def make_agent(self, **environ):
        return Agent(
            {
                "FLAMEGATE_URL": self.control.url,
                "FLAMEGATE_SERVICE": "shop",
                **environ,
                **self.environment,
            }
        )

    def profiled(self, application, **options):
        """Calls with a valid header; returns the response and the state acknowledged."""
        profile_id = new_id()
        response = call(wrap(application, self.agent), header(profile_id, **options))
        ack = ack_of(response[1])
        self.assertEqual(fields_of(ack)["id"], profile_id)
        return response, fields_of(ack)["st"], profile_id

    def profile_of(self, application, **options):
        _, state, profile_id = self.profiled(application, **options)
        self.assertEqual(state, "started")
        return self.control.upload(profile_id)
