"""A plugin for pytest: runs tests of the Agent SDK with the CLI that RECTO_CLI names.

Each test that ran is one line of JSON in the file that RECTO_SEEN names.
"""

import json
import os

from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

# Without this, the SDK starts the client that it brings along.
SubprocessCLITransport._find_bundled_cli = lambda self: os.environ["RECTO_CLI"]


def pytest_runtest_logreport(report):
    is_over = report.when == "call" or report.outcome != "passed"
    if not is_over:
        return
    why = str(report.longrepr).strip().splitlines()[-1:] if report.longrepr else []
    with open(os.environ["RECTO_SEEN"], "a") as seen:
        name = report.nodeid.rsplit("/", 1)[-1]
        seen.write(json.dumps({"test": name, "outcome": report.outcome, "why": "".join(why)}) + "\n")
