# SPDX-License-Identifier: MIT
"""Between a terminal and a program in it: passes on what each says, and types what a test writes into a pipe.

    relay.py PIPE PROGRAM…
"""
import fcntl
import os
import pty
import select
import sys
import termios
import tty


def main(pipe, *command):
    size = fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))
    pid, program = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        os.execvp(command[0], command)
    tty.setraw(0)
    keys = os.open(pipe, os.O_RDWR)  # also to write, so that it has no end
    while True:
        ready = select.select([0, program, keys], [], [])[0]
        for fd in ready:
            try:
                data = os.read(fd, 1 << 16)
            except OSError:
                data = b""
            if not data:
                return
            os.write(1 if fd == program else program, data)


main(*sys.argv[1:])
