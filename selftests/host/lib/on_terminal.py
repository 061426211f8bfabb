#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print what a terminal of that size gets: on_terminal.py ROWS COLUMNS COMMAND..."""
import fcntl
import os
import pty
import struct
import sys
import termios

pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", int(sys.argv[1]), int(sys.argv[2]), 0, 0))
    os.execvp(sys.argv[3], sys.argv[3:])
out = b""
try:
    while data := os.read(fd, 65536):
        out += data
except OSError:
    pass
sys.stdout.write(out.decode().replace("\r", ""))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
