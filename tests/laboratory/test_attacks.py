"""What a stranger, a foreign page or a careless client can do: nothing, and the lab stays up."""

from __future__ import annotations

import contextlib
import socket

import httpx
import pytest
from laboratory.visits import RANDOM_FEATURES, visitor

from giantstep.laboratory.launch import Lab
from giantstep.laboratory.security import HEADER, LabKeys

PATHS = ("/", "/learners", "/health", "/style.css", "/plotly.min.js")
POSTS = ("/target", "/explain", "/theory", "/simulate", "/spectrum", "/neurons", "/report")


@pytest.fixture
def stranger(lab: Lab):
    with httpx.Client(base_url=f"http://127.0.0.1:{lab.port}", timeout=120) as found:
        yield found


@pytest.fixture(autouse=True)
def still_alive(lab: Lab):
    yield
    with visitor(lab) as friend:
        assert friend.post("/target", json={"target": "h1"}).json()["text"] == "h1"


def test_no_token_and_a_wrong_one(stranger: httpx.Client, lab: Lab) -> None:
    wrong = {"token": "x" * 32}
    forged = {lab.keys.cookie: "me." + "0" * 64, "other": LabKeys(lab.port).new_client()}
    name = HEADER.decode()
    for path in PATHS:
        assert stranger.get(path).status_code == 401
        assert stranger.get(path, params=wrong).status_code == 401
        assert stranger.get(path, headers={name: "wrong"}).status_code == 401
        cookies = "; ".join(f"{key}={value}" for key, value in forged.items())
        assert stranger.get(path, headers={"cookie": cookies}).status_code == 401
    for path in POSTS:
        assert stranger.post(path, json={"target": "h1"}).status_code == 401
    # The token opens the page alone: an address with it is not a key to everything.
    assert stranger.get("/learners", params={"token": lab.keys.token}).status_code == 401
    assert stranger.get("/learners", headers={name: lab.keys.token}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.5:80", ""])
def test_a_foreign_host(client: httpx.Client, host: str) -> None:
    assert client.get("/learners", headers={"host": host}).status_code in (400, 403)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1"])
def test_a_foreign_origin(client: httpx.Client, origin: str) -> None:
    refused = client.post("/target", json={"target": "h1"}, headers={"origin": origin})
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers


def test_another_port_of_this_machine_is_foreign_too(client: httpx.Client, lab: Lab) -> None:
    origin = f"http://127.0.0.1:{lab.port + 1}"
    refused = client.post("/target", json={"target": "h1"}, headers={"origin": origin})
    assert refused.status_code == 403


def test_a_form_is_no_request(client: httpx.Client) -> None:
    assert client.post("/target", data={"target": "h1"}).status_code == 415


def test_a_large_body(client: httpx.Client) -> None:
    body = b'{"target": "' + b"x" * 10_000_000 + b'"}'
    json = {"content-type": "application/json"}
    parts = (body[i : i + 1000] for i in range(0, 200_000, 1000))
    for content in (body, parts):
        # It may be refused, and the connection closed, while the body is still being sent.
        with contextlib.suppress(httpx.TransportError):
            assert client.post("/target", content=content, headers=json).status_code == 413


def test_a_long_expression(client: httpx.Client) -> None:
    long = client.post("/target", json={"target": "+".join(["h1"] * 3334)})
    assert long.status_code == 400
    assert "characters" in long.json()["error"]["message"]
    nested = client.post("/target", json={"target": "(" * 1900 + "h1" + ")" * 1900})
    assert nested.status_code == 422


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/%2e%2e/%2e%2e/etc/passwd", "/static/../server.py", "//etc"]
)
def test_a_path(client: httpx.Client, lab: Lab, path: str) -> None:
    with socket.create_connection(("127.0.0.1", lab.port)) as raw:
        cookie = "; ".join(f"{k}={v}" for k, v in client.cookies.items())
        head = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: {cookie}\r\n\r\n"
        raw.sendall(head.encode())
        assert b"404" in raw.recv(4000).splitlines()[0]


def test_a_body_of_two_lengths(client: httpx.Client, lab: Lab) -> None:
    cookie = "; ".join(f"{k}={v}" for k, v in client.cookies.items())
    head = f"POST /target HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: {cookie}\r\n"
    head += "content-type: application/json\r\ncontent-length: 5\r\ntransfer-encoding: chunked"
    with socket.create_connection(("127.0.0.1", lab.port)) as raw:
        raw.sendall(f"{head}\r\n\r\n0\r\n\r\n".encode())
        assert b"400" in raw.recv(4000).splitlines()[0]


def test_a_script_in_the_target(client: httpx.Client) -> None:
    script = "<script>alert(1)</script>"
    for text in (script, f"h1 + {script}", "<img src=x onerror=alert(1)>*h1"):
        answer = client.post("/target", json={"target": text})
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
    policy = client.get("/").headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy
    # What gs.lab() opens may be shown inside a notebook of this machine, and nowhere else.
    assert policy.endswith("frame-ancestors 'self' http://localhost:* http://127.0.0.1:*")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{" * 60_000,
        b'{"target": null}',
        b'{"target": {"a": 1}}',
        b'{"problem": {"target": "h1", "path": "/etc/passwd"}}',
        b'{"learner": "__import__", "settings": {}}',
        b'{"learner": "kernel", "settings": {"__class__": "x"}}',
        b'{"learner": "kernel", "settings": {"dim": [1]}}',
    ],
)
def test_nonsense(client: httpx.Client, body: bytes) -> None:
    for path in POSTS:
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422)


def test_a_range_of_too_many_points(client: httpx.Client) -> None:
    settings = {"dim": "40", "samples": "1d:4d:90000"}
    answer = client.post("/theory", json={**RANDOM_FEATURES, "settings": settings})
    assert answer.status_code == 400
    listed = {"dim": "40", "samples": ",".join(["1d"] * 200)}
    answer = client.post("/theory", json={**RANDOM_FEATURES, "settings": listed})
    assert answer.status_code == 422


def test_a_thousand_connections_that_say_nothing(lab: Lab) -> None:
    held = []
    try:
        for number in range(1000):
            connection = socket.create_connection(("127.0.0.1", lab.port))
            if number % 2:
                connection.sendall(b"GET / HTTP/1.1\r\nx-slow: ")
            held.append(connection)
        with visitor(lab) as friend:
            assert friend.post("/target", json={"target": "h1*h2"}).status_code == 200
    finally:
        for connection in held:
            connection.close()
