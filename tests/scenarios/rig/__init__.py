"""The rig for tests of the whole program: see process.Proxy, upstream.Upstream, client.Client and
application.Application."""

from .application import Application, Ticket
from .case import ProfilingCase, ProxyCase, echo, profiler_fields
from .client import Client, fetch, make_request
from .deadline import Deadline, wait_until
from . import pprof
from .dns import CUT_SHORT, GARBAGE, NXDOMAIN, SERVFAIL, SILENT, NameServer
from .message import Head, ProtocolError, Response
from .process import Proxy, binary, free_port
from .redis import Redis
from .tls import Authority, TlsUpstream, names_shown, tls_client
from .token import TokenMint
from .upstream import CLOSE, Upstream, chunk, chunked, html, reply
