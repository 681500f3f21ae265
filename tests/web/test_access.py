"""Access control: hosts, origins, proxies, tokens. First the decisions, then the server that applies them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from slpstream.config.sections import Server
from slpstream.daemon import service
from slpstream.model.errors import ConfigError
from slpstream.parts import registry
from slpstream.web.access import Access, Denied, Role
from slpstream.web.app import described_endpoints
from slpstream.web.server import Limits
from tests.daemons.configuration import requiring_tokens
from tests.daemons.process import running
from tests.daemons.requests import ask
from tests.web.served import Answer, served
from tests.web.websocket_frames import handshake

OWN = {"host": "127.0.0.1:5151"}
OPERATED = Access(token="secret", operate_token="operate")
OPEN = Access()
LOCKED = Access(token="secret", require_token=True)


ALLOWED_HOSTS = (
    "127.0.0.1:5151", "127.0.0.1", "localhost:5151", "LOCALHOST", "[::1]:5151", "192.168.1.7:80", "[fe80::1%25eth0]",
    "[::1]", "[::ffff:127.0.0.1]:80", "[FE80::A%eth0]:5151", "127.0.0.1:", "localhost.", "localhost.:5151",
    "stream-pc:5151", "STREAM-PC", "slp.example.org", "slp.example.org.:443", "laptop.local", "laptop.local.",
)  # fmt: skip


def test_allowed_hosts() -> None:
    access = Access(allowed_hosts=("Stream-PC", "slp.example.org", "laptop.local."))
    for headers in ({}, *({"host": host} for host in ALLOWED_HOSTS)):
        assert access.check(headers, "127.0.0.1", None) is None, headers


REFUSED_HOSTS = (
    "evil.example", "evil.example:5151", "127.0.0.1.evil.example", "localhost.evil.example", "[::1", "[x]", "1.2.3",
    # not a host with an optional port
    "[::1]x", "[::1]x:80", "[::1].evil.example", "[::1]:80:80", "[::1]80", "x[::1]", "[[::1]]", "::1", "::1:5151",
    "[127.0.0.1]", "[localhost]", "[]", ":5151", ":", "evil@127.0.0.1", "evil:x@127.0.0.1:5151", "@localhost",
    "127.0.0.1:80x", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:5151:5151", "127.0.0.1/", "127.0.0.1/x", "/",
    "127.0.0.1?x", "127.0.0.1#x", "127.0.0.1\\x", "127.0.0.1,evil.example", "127.0.0.1 ", " localhost", "local\thost",
    # neither an address nor an allowed name
    "127.0.0.1%evil.example", "127.0.0.1%25eth0", "127.0.0.1.", "127.1", "0x7f.0.0.1", "127.0.0.01", "localhost..",
    ".localhost", ".", "[::1%]", "[::1%25]x", "\uff11\uff12\uff17.0.0.1", "stream-pc.evil.example", "evil@stream-pc",
)  # fmt: skip


@pytest.mark.parametrize("host", REFUSED_HOSTS)
def test_refused_hosts(host: str) -> None:
    """DNS rebinding: a page whose host name was rebound to 127.0.0.1 sends that name."""
    for access in (OPEN, Access(allowed_hosts=("stream-pc",))):
        assert access.check({"host": host}, "127.0.0.1", None) is Denied.HOST


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
        ("https://overlays.example.org", "127.0.0.1:5151", True),
        ("http://overlays.example.org", "127.0.0.1:5151", False),
        ("https://overlays.example.org.evil.example", "127.0.0.1:5151", False),
        ("http://[::1]:5151", "[::1]:5151", True),
        ("http://[::1]:5151", "[0::1]:5151", False),
        ("http://localhost", "localhost:80", True),
        ("https://localhost:443", "localhost", True),
        ("https://localhost", "localhost:80", False),
        ("http://localhost.:5151", "localhost.:5151", True),
        ("http://evil@localhost:5151", "localhost:5151", False),
        ("http://localhost:5151/x", "localhost:5151", False),
        ("http://localhost:5151#x", "localhost:5151", False),
        ("http://[::1]x", "[::1]", False),
    ],
)
def test_origins(origin: str, host: str, may: bool) -> None:
    access = Access(allowed_origins=("https://overlays.example.org",))
    denied = access.check({"host": host, "origin": origin}, "127.0.0.1", None)
    assert (denied is None) == may
    assert denied in (None, Denied.ORIGIN)


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


@pytest.mark.parametrize(
    "header", ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"]
)
def test_requests_through_a_proxy_need_a_token(header: str) -> None:
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


@pytest.mark.parametrize("role", [Role.READ, Role.OPERATE])
def test_tokens_are_compared_in_constant_time(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both tokens are compared with `hmac.compare_digest`, whatever the result of the first comparison."""
    compared: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, token: bytes) -> bool:
        compared.append((given, token))
        return given == token

    monkeypatch.setattr("slpstream.web.access.hmac.compare_digest", compare)
    for given_token in ("operate", "secret", "x"):
        OPERATED.check(OWN, "127.0.0.1", given_token, role)
    assert compared == [(g.encode(), t) for g in ("operate", "secret", "x") for t in (b"operate", b"secret")]


@pytest.mark.parametrize(
    ("access", "peer", "token", "read", "operate"),
    [
        (OPEN, "127.0.0.1", None, None, None),
        (OPEN, "10.0.0.1", None, Denied.TOKEN, Denied.TOKEN),
        (LOCKED, "127.0.0.1", None, Denied.TOKEN, Denied.TOKEN),
        (LOCKED, "127.0.0.1", "secret", None, None),
        (Access(token="secret"), "10.0.0.1", "secret", None, None),
        (Access(token="secret"), "10.0.0.1", "wrong", Denied.WRONG_TOKEN, Denied.WRONG_TOKEN),
        (OPERATED, "127.0.0.1", None, None, Denied.TOKEN),
        (OPERATED, "127.0.0.1", "wrong", None, Denied.WRONG_TOKEN),
        (OPERATED, "127.0.0.1", "secret", None, Denied.OPERATOR),
        (OPERATED, "127.0.0.1", "operate", None, None),
        (OPERATED, "10.0.0.1", None, Denied.TOKEN, Denied.TOKEN),
        (OPERATED, "10.0.0.1", "secret", None, Denied.OPERATOR),
        (OPERATED, "10.0.0.1", "operate", None, None),
        (Access(operate_token="operate"), "127.0.0.1", None, None, Denied.TOKEN),
        (Access(operate_token="operate"), "10.0.0.1", "operate", None, None),
        (Access(require_token=True), "127.0.0.1", None, Denied.TOKEN, Denied.TOKEN),
        (Access(require_token=True), "127.0.0.1", "None", Denied.WRONG_TOKEN, Denied.WRONG_TOKEN),
        (Access(require_token=True), "127.0.0.1", "", Denied.TOKEN, Denied.TOKEN),
    ],
)
def test_roles(access: Access, peer: str, token: str | None, read: Denied | None, operate: Denied | None) -> None:
    assert access.check(OWN, peer, token) is read
    assert access.check(OWN, peer, token, Role.OPERATE) is operate
    in_header = {**OWN, "authorization": f"Bearer {token}"} if token else OWN
    assert access.check(in_header, peer, None) is read
    assert access.check(in_header, peer, None, Role.OPERATE) is operate


@pytest.mark.parametrize(
    ("headers", "denied"),
    [
        ({}, None),
        ({"origin": "http://127.0.0.1:5151"}, None),
        ({"origin": "https://127.0.0.1:5151"}, None),
        ({"origin": "http://127.0.0.1:5151", "sec-fetch-site": "same-origin"}, None),
        ({"sec-fetch-site": "none"}, None),
        ({"origin": "https://overlays.example"}, Denied.FOREIGN),
        ({"origin": "file://"}, Denied.FOREIGN),
        ({"origin": "null"}, Denied.ORIGIN),
        ({"origin": "http://127.0.0.1:8080"}, Denied.ORIGIN),
        ({"sec-fetch-site": "cross-site"}, Denied.FOREIGN),
        ({"sec-fetch-site": "same-site"}, Denied.FOREIGN),
        ({"host": "rebound.example", "origin": "http://rebound.example"}, Denied.HOST),
    ],
)
@pytest.mark.parametrize("operate_token", [None, "operate"])
def test_pages_of_other_origins_are_never_operators(
    headers: dict[str, str], denied: Denied | None, operate_token: str | None
) -> None:
    """Not even with the right token."""
    access = Access("secret", operate_token, allowed_origins=("https://overlays.example",))
    token = operate_token or "secret"
    for role in (Role.OPERATE, Role.CLAIM):
        assert access.check({**OWN, **headers}, "127.0.0.1", token, role) is denied


@given(
    st.dictionaries(
        st.sampled_from(["host", "origin", "authorization", "forwarded", "sec-fetch-site"]),
        st.text(st.characters(max_codepoint=255)) | st.from_regex(r"https?://\[?[0-9a-z:.%\]@/]*", fullmatch=True),
    ),
    st.text(max_size=20),
    st.none() | st.text(max_size=10),
)
def test_arbitrary_headers_get_a_decision(headers: dict[str, str], peer: str, token: str | None) -> None:
    assert LOCKED.check(headers, peer, token) in (None, *Denied)
    may_read, may_operate = (OPERATED.check(headers, peer, token, role) is None for role in (Role.READ, Role.OPERATE))
    assert OPERATED.check(headers, peer, token, Role.CLAIM) in (None, Denied.HOST, Denied.ORIGIN, Denied.FOREIGN)
    assert may_read or not may_operate, "operators can read too"


def access_of(**server: object) -> Access:
    return service.access_of(Server(**server))  # type: ignore[arg-type]


def test_tokens_come_from_files_or_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("token", "operate_token"):
        (tmp_path / name).write_text(f"{name} of the unit\n")
        (tmp_path / f"{name}.txt").write_text(f"  {name} of the file \nnot this\n")
    files = {f"{name}_file": str(tmp_path / f"{name}.txt") for name in ("token", "operate_token")}
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    assert access_of() == Access(None, None)
    assert access_of(**files) == Access("token of the file", "operate_token of the file")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert access_of() == Access("token of the unit", "operate_token of the unit")
    assert access_of(**files) == Access("token of the file", "operate_token of the file")


def test_invalid_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    good, empty, absent = tmp_path / "good", tmp_path / "empty", tmp_path / "absent"
    good.write_text("secret")
    empty.write_text("\nsecret\n")
    for server, key in (
        ({"host": "0.0.0.0"}, "server.token_file"),
        ({"host": "0.0.0.0", "operate_token_file": str(good)}, "server.token_file"),
        ({"require_token": True}, "server.token_file"),
        ({"token_file": str(empty)}, "server.token_file"),
        ({"operate_token_file": str(empty)}, "server.operate_token_file"),
        ({"operate_token_file": str(absent)}, "server.operate_token_file"),
        ({"token_file": str(good), "operate_token_file": str(good)}, "server.operate_token_file"),
    ):
        with pytest.raises(ConfigError, match=re.escape(key)) as refused:
            access_of(**server)
        assert "secret" not in str(refused.value)


@pytest.mark.trio
async def test_refused_requests_are_problems_with_challenges() -> None:
    async with served(access=LOCKED) as server:
        for headers, status, detail, challenge in (
            ({"host": "evil.example"}, 421, "this host name is not served here", None),
            ({"origin": "https://evil.example"}, 403, "", None),
            ({"origin": "http://["}, 403, "", None),
            ({}, 401, "a token is required", 'Bearer realm="slpstream"'),
            ({"x_forwarded_for": "10.0.0.1"}, 401, "a token is required", 'Bearer realm="slpstream"'),
            (
                {"authorization": "Bearer wrong"},
                401,
                "the token is wrong",
                'Bearer realm="slpstream", error="invalid_token"',
            ),
        ):
            for target in ("/v1/stations", "/v1/events?station=main", "/nothing", "/healthz"):
                answer = await server.ask(target, **headers)
                assert answer.problem["status"] == status
                assert detail in answer.problem["detail"]
                assert answer.headers.get("www-authenticate") == challenge
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert "secret" not in str(answer)
        assert (await server.ask("/v1/stations", authorization="Bearer secret")).status == 200
        for query in ("token=secret", "token=s%65cret&x=y"):
            assert (await server.ask(f"/v1/stations?{query}", x_forwarded_for="10.0.0.1")).status == 200
        assert (await server.ask("/static/slpstream.js")).status == 200  # needs no token


@pytest.mark.trio
async def test_operator_endpoints_require_the_role() -> None:
    async with served(access=OPERATED) as server:
        path = "/v1/stations/main/set"

        async def operate(target: str = path, **headers: str) -> Answer:
            return await server.send_body(b"{}", target, "PATCH", content_type="application/json", **headers)

        for headers, status, challenge in (
            ({}, 401, 'Bearer realm="slpstream"'),
            ({"authorization": "Bearer wrong"}, 401, 'Bearer realm="slpstream", error="invalid_token"'),
            ({"authorization": "Bearer secret"}, 403, 'Bearer realm="slpstream", error="insufficient_scope"'),
            ({"authorization": "Bearer operate", "origin": "file://"}, 403, None),
        ):
            answer = await operate(**headers)
            assert answer.problem["status"] == status
            assert answer.headers.get("www-authenticate") == challenge
            assert (await server.ask(path, **headers)).status == 200, "reading requires no role"
        assert (await operate(authorization="Bearer operate")).status == 200
        assert (await operate(f"{path}?token=operate")).status == 200
        limits = Limits(max_connections=100, outbox_bytes=65536, socket_buffer_bytes=65536)
        server.server.configure(Access("secret", "another"), limits)
        assert (await operate(authorization="Bearer operate")).status == 401
        server.server.configure(Access("secret"), limits)
        assert (await operate()).status == 200
        assert (await operate(x_forwarded_for="10.0.0.1")).status == 401


@pytest.mark.process
def test_every_changing_endpoint_requires_the_operator_role(folder: Path, tmp_path: Path) -> None:
    changing = [each for each in described_endpoints(registry.endpoints({})) if each.method != "GET" or each.operates]
    assert {"/v1/reload", "/v1/stations/{station}/set"} <= {each.path for each in changing}
    with running(folder, arguments=requiring_tokens(tmp_path)) as daemon:
        for endpoint in changing:
            if endpoint.path.startswith("/v1/seats/"):  # it has separate tokens
                continue
            path = re.sub(r"\{\w+\}", "main", endpoint.path)
            for headers, status in (
                ({}, 401),
                ({"authorization": "Bearer sesame"}, 403),
                ({"authorization": "Bearer open", "origin": "https://elsewhere.example"}, 403),
            ):
                answer = ask(daemon, path, {}, method=endpoint.method, **headers)
                assert answer.status == status, endpoint.name


@pytest.mark.trio
@pytest.mark.parts("api_docs", "audit", "bracket", "dashboard", "scenes", "seats")
async def test_pages_with_a_token_form_are_public() -> None:
    """Every page that the dashboard links to. Pages of the API get the token in their links, like scenes."""
    dashboard = (registry.static_folders()["dashboard"] / "index.html").read_text()
    links = re.findall(r'<a[^>]* href="(\w[\w/-]*)"(?! data-needs-token)', dashboard)
    assert {"bracket", "audit", "docs", "seat-codes"} <= set(links)
    async with served(access=Access(token="secret")) as server:
        for path in ("", *links, "seats/main"):
            answer = await server.ask(f"/{path}", x_forwarded_for="10.0.0.1")
            assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
            assert (await server.ask(f"/{path}", host="evil.example")).status == 421
        for path in ("overlay/main", "scenes/live/main", "scenes/ticker", "seats", "bracket/", "seats/main/x"):
            assert (await server.ask(f"/{path}", x_forwarded_for="10.0.0.1")).status == 401, path


@pytest.mark.trio
async def test_websockets_of_other_origins_are_refused_in_the_handshake() -> None:
    async with served(access=Access(allowed_origins=("https://a.example",))) as server:
        for headers, status in (({"Host": "evil.example"}, 421), ({"Origin": "https://evil.example"}, 403)):
            async with await server.call() as caller:
                await caller.send(handshake(**{"Host": server.host.decode(), **headers}))
                assert (await caller.answer()).problem["status"] == status
                assert await caller.ended()
        for origin in (f"http://127.0.0.1:{server.port}", "https://a.example", "file://", None):
            async with server.websocket(origin=origin) as websocket:
                assert '"hello"' in str(await websocket.recv())


@pytest.mark.trio
async def test_websocket_without_token_is_closed_with_4401() -> None:
    async with served(access=LOCKED) as server:
        for query, reason in (("", "a token is required"), ("?token=wrong", "the token is wrong")):
            async with server.websocket(query) as websocket:
                assert (await websocket.recv()) == f'{{"type":"error","code":4401,"message":"{reason}"}}'
                with pytest.raises(ConnectionClosed) as closed:
                    await websocket.recv()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 4401
        assert server.closed == [4401, 4401]
        header = {"Authorization": "Bearer secret"}
        for query, headers in (("?token=secret&station=main", {}), ("?station=main", header)):
            async with server.websocket(query, additional_headers=headers) as websocket:
                assert '"hello"' in str(await websocket.recv())
