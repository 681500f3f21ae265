"""Prints the bill of materials of a release: the packages that its programs include, as CycloneDX in JSON.

Usage: python deploy/wheel/bill_of_materials.py VERSION

The packages are those of `deploy/requirements.lock`, with the hashes of the files that an installation accepts.
`SOURCE_DATE_EPOCH` is its time, so that the same lock gives the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
_PIN = re.compile(
    r"^([\w.-]+)==(\S+)(?: ; ([^\\]+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def bill_of_materials(version: str, time: datetime) -> dict[str, Any]:
    """The document of one release."""
    packages = list(_packages(LOCK.read_text(encoding="utf-8")))
    itself = f"pkg:pypi/slpstream@{version}"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, itself)}",
        "version": 1,
        "metadata": {
            "timestamp": time.isoformat().replace("+00:00", "Z"),
            "component": {
                "type": "application",
                "bom-ref": itself,
                "name": "slpstream",
                "version": version,
                "licenses": [{"expression": "MIT AND OFL-1.1"}],
                "purl": itself,
            },
        },
        "components": packages,
        "dependencies": [{"ref": itself, "dependsOn": [package["bom-ref"] for package in packages]}],
    }


def _packages(lock: str) -> Iterator[dict[str, Any]]:
    for name, version, marker, hashes in _PIN.findall(lock):
        address = f"pkg:pypi/{name}@{version}"
        distribution = {
            "type": "distribution",
            "url": f"https://pypi.org/project/{name}/{version}/",
            "hashes": [{"alg": "SHA-256", "content": each} for each in re.findall(r"sha256:([0-9a-f]+)", hashes)],
        }
        package = {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}
        if marker:
            package["description"] = f"Included where {marker}"
        yield {**package, "externalReferences": [distribution]}


if __name__ == "__main__":
    made_at = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    sys.stdout.write(json.dumps(bill_of_materials(sys.argv[1], made_at), indent=2) + "\n")
