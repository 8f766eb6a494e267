"""Runs a program on a terminal of its own, 100 columns wide unless TERMINAL_COLUMNS says otherwise. What it draws goes to stdout; each line of stdin is a text in JSON, typed there.

Prints "\n@ended STATUS\n" when the program ends.
"""
import fcntl, json, os, pty, select, signal, struct, sys, termios

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(os.environ.get("TERMINAL_COLUMNS", "100")), 0, 0))

commands = b""
while True:
    readable, _, _ = select.select([terminal, 0], [], [], 0.05)
    if terminal in readable:
        try:
            os.write(1, os.read(terminal, 65536))
        except OSError:
            pass
    if 0 in readable:
        more = os.read(0, 65536)
        if not more:
            os.kill(pid, signal.SIGKILL)
            sys.exit(1)
        commands += more
        while b"\n" in commands:
            line, commands = commands.split(b"\n", 1)
            os.write(terminal, json.loads(line).encode())
    found, status = os.waitpid(pid, os.WNOHANG)
    if found != 0:
        os.write(1, b"\n@ended %d\n" % os.waitstatus_to_exitcode(status))
        sys.exit(0)
