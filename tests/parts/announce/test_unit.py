"""The drop-in of the service that lets the daemon announce itself."""

from __future__ import annotations

import pytest

from slpstream.parts.announce.part import Announce
from tests.deploy.systemd import settings
from tests.docs.pages import blocks


@pytest.mark.parts("consoles")  # the page shows its keys, and is left out without it
def test_drop_in_opens_only_the_group_of_dns_sd() -> None:
    (drop_in,) = [block.text for block in blocks("ini") if block.page == "slpstream/parts/announce/docs.md"]
    # DNS-SD finds the machine's addresses with getifaddrs, which needs AF_NETLINK. Its address is from RFC 6762.
    assert settings(drop_in) == [
        ("RestrictAddressFamilies", "AF_NETLINK"),
        ("IPAddressAllow", f"224.0.0.251 {Announce().broadcast_host}"),
    ]
