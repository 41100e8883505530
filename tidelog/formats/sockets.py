"""Changes over a connection: `tcp://HOST:PORT`."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from tidelog.formats.byte_source import FileFault

TCP = "tcp://"
PATIENCE = 10.0  # seconds for a connection to come about


def address_of(name: str) -> tuple[str, int]:
    """The host and the port that a name means.

    >>> address_of("tcp://localhost:9000"), address_of("tcp://[::1]:9000")
    (('localhost', 9000), ('::1', 9000))
    """
    try:
        parts = urlsplit(name)
        host, port = parts.hostname, parts.port
    except ValueError:  # unmatched brackets, an invalid port
        host = port = None
    if not host or not port or name != f"{TCP}{parts.netloc}" or "@" in parts.netloc:
        raise FileFault(f"{name!r} is not an address", "write tcp://HOST:PORT, with a port above 0")
    return host, port


def connect(host: str, port: int, name: str) -> socket.socket:
    """A connection to read from."""
    try:
        made = socket.create_connection((host, port), timeout=PATIENCE)
    except TimeoutError:
        raise FileFault(f"{name} does not answer", "is this the right host and port?") from None
    except ConnectionRefusedError:
        raise FileFault(f"nothing listens at {name}", "start the sender first") from None
    except socket.gaierror:
        raise FileFault(f"the host of {name} is unknown", "check its name") from None
    except OSError as error:
        raise FileFault(f"{name} cannot be reached: {error.strerror or error}") from None
    made.settimeout(None)
    return made
