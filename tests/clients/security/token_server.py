"""An OAuth server that gives what a test tells it to, on a thread."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple


class Asked(NamedTuple):
    """What a client asked."""

    path: str
    authorization: str
    body: bytes


class TokenServer(ThreadingHTTPServer):
    """Answers with ``answers`` in turn, the last one again and again."""

    daemon_threads = True

    def __init__(self, answers: list[tuple[int, bytes]], tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.asked: list[Asked] = []
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.server_port}/token?tenant=1"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)


class _Handler(BaseHTTPRequestHandler):
    server: TokenServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(Asked(self.path, self.headers["Authorization"], body))
        answers = self.server.answers
        status, content = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def token_server(*answers: tuple[int, bytes], tls: ssl.SSLContext | None = None) -> Iterator[TokenServer]:
    server = TokenServer(list(answers), tls)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
