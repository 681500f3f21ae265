"""Who may come in: hosts, origins, proxies, tokens. What is decided first, then that the server does it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus

from slpstream.web.access import Access, Denied
from tests.web.served import served

OWN = {"host": "127.0.0.1:5151"}
OPEN = Access()
LOCKED = Access(token="secret", require_token=True)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:5151", "127.0.0.1", "localhost:5151", "LOCALHOST", "[::1]:5151", "192.168.1.7:80", "[fe80::1%25eth0]"],
)
def test_hosts_that_are_ours(host: str) -> None:
    assert OPEN.check({"host": host}, "127.0.0.1", None) is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:5151", "127.0.0.1.evil.example", "localhost.evil.example", "[::1", "[x]", "1.2.3"],
)
def test_hosts_that_are_not(host: str) -> None:
    """A page whose name was rebound to 127.0.0.1 brings its own name."""
    assert OPEN.check({"host": host}, "127.0.0.1", None) is Denied.HOST


def test_configured_hosts() -> None:
    access = Access(allowed_hosts=("Stream-PC", "slp.example.org"))
    for host in ("stream-pc:5151", "STREAM-PC", "slp.example.org"):
        assert access.check({"host": host}, "127.0.0.1", None) is None
    assert access.check({"host": "other"}, "127.0.0.1", None) is Denied.HOST


def test_http_1_0_has_no_host() -> None:
    assert OPEN.check({}, "127.0.0.1", None) is None


@pytest.mark.parametrize(
    ("origin", "host", "may"),
    [
        ("http://127.0.0.1:5151", "127.0.0.1:5151", True),
        ("http://localhost:5151", "localhost:5151", True),
        ("https://localhost:5151", "LOCALHOST:5151", True),
        ("file://", "127.0.0.1:5151", True),
        ("null", "127.0.0.1:5151", False),
        ("http://localhost:5151", "127.0.0.1:5151", False),
        ("http://127.0.0.1:8080", "127.0.0.1:5151", False),
        ("https://evil.example", "127.0.0.1:5151", False),
        ("ftp://127.0.0.1:5151", "127.0.0.1:5151", False),
        ("http://[", "127.0.0.1:5151", False),
        ("http://[::1", "127.0.0.1:5151", False),
        ("", "127.0.0.1:5151", False),
        ("http://", "", False),
        ("garbage", "127.0.0.1:5151", False),
    ],
)
def test_origins(origin: str, host: str, may: bool) -> None:
    denied = OPEN.check({"host": host, "origin": origin}, "127.0.0.1", None)
    assert (denied is None) == may
    assert denied in (None, Denied.ORIGIN)


def test_configured_origins() -> None:
    access = Access(allowed_origins=("https://overlays.example.org",))
    for origin, expected in (
        ("https://overlays.example.org", None),
        ("http://overlays.example.org", Denied.ORIGIN),
        ("https://overlays.example.org.evil.example", Denied.ORIGIN),
    ):
        assert access.check({**OWN, "origin": origin}, "127.0.0.1", None) is expected


@pytest.mark.parametrize(
    ("peer", "needs"),
    [
        ("127.0.0.1", False),
        ("127.8.9.1", False),
        ("::1", False),
        ("192.168.1.9", True),
        ("fe80::2%eth0", True),
        ("?", True),
    ],
)
def test_only_loopback_needs_no_token(peer: str, needs: bool) -> None:
    access = Access(token="secret")
    assert (access.check(OWN, peer, None) is Denied.TOKEN) == needs
    assert access.check(OWN, peer, "secret") is None


@pytest.mark.parametrize("header", ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"])
def test_what_came_through_a_proxy_needs_one(header: str) -> None:
    access = Access(token="secret")
    assert access.check({**OWN, header: "127.0.0.1"}, "127.0.0.1", None) is Denied.TOKEN
    assert access.check({**OWN, header: "127.0.0.1", "authorization": "Bearer secret"}, "127.0.0.1", None) is None


@pytest.mark.parametrize(
    ("authorization", "query", "fits"),
    [
        ("Bearer secret", None, True),
        ("bearer  secret ", None, True),
        ("", "secret", True),
        ("Basic c2VjcmV0", "secret", True),
        ("Bearer wrong", "secret", False),
        ("Bearer", None, False),
        ("secret", None, False),
        ("Bearer secre", None, False),
        ("Bearer secrets", None, False),
        ("", "", False),
        ("", None, False),
        ("Bearer \xff\xfe", None, False),
        ("", "s\u00e9cret", False),
    ],
)
def test_tokens(authorization: str, query: str | None, fits: bool) -> None:
    headers = {**OWN, "authorization": authorization} if authorization else OWN
    assert (LOCKED.check(headers, "127.0.0.1", query) is None) == fits


def test_without_a_token_nobody_has_the_right_one() -> None:
    access = Access(token=None, require_token=True)
    for given_token in ("", "None", None):
        assert access.check(OWN, "127.0.0.1", given_token) is Denied.TOKEN
    assert access.check({**OWN, "authorization": "Bearer "}, "127.0.0.1", None) is Denied.TOKEN


@given(
    st.dictionaries(
        st.sampled_from(["host", "origin", "authorization", "forwarded"]),
        st.text(st.characters(max_codepoint=255)) | st.from_regex(r"https?://\[?[0-9a-z:.%\]@/]*", fullmatch=True),
    ),
    st.text(max_size=20),
    st.none() | st.text(max_size=10),
)
def test_no_header_breaks_it(headers: dict[str, str], peer: str, token: str | None) -> None:
    assert LOCKED.check(headers, peer, token) in (None, *Denied)


# -- and the server does it -------------------------------------------------------------------------------------------


@pytest.mark.trio
async def test_refused_requests_are_problems() -> None:
    async with served(access=LOCKED) as server:
        for headers, status in (
            ({"host": "evil.example"}, 421),
            ({"origin": "https://evil.example"}, 403),
            ({"origin": "http://["}, 403),
            ({}, 401),
            ({"authorization": "Bearer wrong"}, 401),
        ):
            answer = await server.ask("/v1/stations", **headers)
            assert answer.status == answer.problem["status"] == status
            assert "secret" not in str(answer)
            assert answer.headers["x-content-type-options"] == "nosniff"
        assert (await server.ask("/v1/stations", authorization="Bearer secret")).status == 200
        assert (await server.ask("/v1/stations?token=secret")).status == 200
        assert (await server.ask("/v1/stations?token=s%65cret&x=y")).status == 200
        assert (await server.ask("/healthz")).status == 401
        assert (await server.ask("/static/overlay.js")).status == 200  # the same for everybody


@pytest.mark.trio
async def test_through_a_proxy() -> None:
    async with served(access=Access(token="secret")) as server:
        assert (await server.ask("/healthz")).status == 200
        assert (await server.ask("/healthz", x_forwarded_for="10.0.0.1")).status == 401
        assert (await server.ask("/healthz?token=secret", x_forwarded_for="10.0.0.1")).status == 200


@pytest.mark.trio
@pytest.mark.parametrize(
    ("headers", "status"), [({"Host": "evil.example"}, 421), ({"Origin": "https://evil.example"}, 403)]
)
async def test_websockets_of_other_pages_are_refused_in_the_handshake(headers: dict[str, str], status: int) -> None:
    async with served() as server:
        head = {"Host": server.host.decode(), **headers}
        request = "GET /v1/stream HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in head.items())
        request += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        request += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        caller = await server.call()
        async with caller.stream:
            await caller.send(request.encode())
            assert (await caller.answer()).problem["status"] == status
            assert await caller.ended()


@pytest.mark.trio
async def test_own_and_configured_origins_may_connect() -> None:
    async with served(access=Access(allowed_origins=("https://a.example",))) as server:
        for origin in (f"http://127.0.0.1:{server.port}", "https://a.example", "file://", None):
            async with server.websocket(origin=origin) as websocket:
                assert '"hello"' in str(await websocket.recv())
        with pytest.raises(InvalidStatus):
            async with server.websocket(origin="https://b.example"):
                pass


@pytest.mark.trio
@pytest.mark.parametrize("query", ["", "?token=wrong", "?station=main"])
async def test_a_websocket_without_the_token_is_closed_with_4401(query: str) -> None:
    async with served(access=LOCKED) as server:
        async with server.websocket(query) as websocket:
            assert (await websocket.recv()) == '{"type":"error","code":4401,"message":"a token is required"}'
            with pytest.raises(ConnectionClosed) as closed:
                await websocket.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4401
        assert server.closed == [4401]
        async with server.websocket("?token=secret&station=main") as websocket:
            assert '"hello"' in str(await websocket.recv())
        async with server.websocket(
            "?station=main", additional_headers={"Authorization": "Bearer secret"}
        ) as websocket:
            assert '"hello"' in str(await websocket.recv())
