"""Redis is imported only if it is configured; a missing extra is a clear configuration error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_BLOCKED = """
import sys
sys.modules["coredis"] = None
from slpstream.cli import main
try:
    main({arguments!r})
finally:
    loaded = [name for name in sys.modules if name.startswith(("coredis", "slpstream.parts.fanout.sink",
              "slpstream.parts.fanout.connection", "slpstream.parts.fanout.gateway"))]
    print("LOADED", [name for name in loaded if sys.modules[name] is not None])
"""
_SERVED = """
import sys
sys.modules["coredis"] = None
import trio
from slpstream.config import Config, Server, StationConfig, Store
from slpstream.daemon.daemon import Daemon

async def run():
    config = Config(server=Server(port=0), store=Store(folder={folder!r}))
    daemon = Daemon(config, [StationConfig(id="a", folder={folder!r})], strict=True)
    async with trio.open_nursery() as nursery:
        await nursery.start(daemon.run)
        daemon.served.render_metrics()
        assert not [reason for reason in daemon.served.not_ready() if "broker" in reason]
        daemon.stop()

trio.run(run)
names = ("coredis", "slpstream.parts.fanout.sink", "slpstream.parts.fanout.connection",
         "slpstream.parts.fanout.gateway")
print("LOADED", [name for name in sys.modules if name.startswith(names) and sys.modules[name] is not None])
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


def test_daemon_without_a_broker_does_not_import_redis(tmp_path: Path) -> None:
    done = run(_SERVED.format(folder=str(tmp_path)))
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["LOADED []"]), done.stderr


def test_broker_without_the_extra_is_a_configuration_error(tmp_path: Path) -> None:
    config = tmp_path / "slpstream.toml"
    config.write_text('[fanout]\nurl = "redis://localhost"\n')
    for arguments in (["check-config", str(config)], ["gateway", "--config", str(config)]):
        done = run(_BLOCKED.format(arguments=arguments))
        assert done.returncode == 78, done.stderr
        assert (
            done.stderr.strip()
            .splitlines()[-1]
            .endswith("fanout.url: needs the extra: pip install 'slpstream[fanout]'")
        )
        assert done.stdout.splitlines()[-1] == "LOADED []"
