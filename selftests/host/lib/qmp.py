#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Have QEMU do something, and wait until it has: qmp.py SOCKET COMMAND [JSON]..."""
import json
import socket
import sys

qmp = socket.socket(socket.AF_UNIX)
qmp.connect(sys.argv[1])
lines = qmp.makefile("rw")


def execute(command, arguments):
    print(json.dumps({"execute": command, "arguments": arguments}), file=lines, flush=True)
    # Events may come before the answer.
    for line in lines:
        said = json.loads(line)
        if "error" in said:
            sys.exit(f"{command}: {said['error']['desc']}")
        if "return" in said:
            return
    sys.exit(f"{command}: QEMU has gone")


lines.readline()
execute("qmp_capabilities", {})
rest = sys.argv[2:]
while rest:
    name = rest.pop(0)
    execute(name, json.loads(rest.pop(0)) if rest and rest[0].startswith("{") else {})
