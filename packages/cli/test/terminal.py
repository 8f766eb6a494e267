"""Runs a program on a terminal of its own, 100 columns wide unless TERMINAL_COLUMNS says otherwise. What it draws goes to stdout; each line of stdin is a text in JSON, typed there.

Prints "\n@stopped\n", "\n@continued\n" and "\n@ended STATUS\n" as they happen; the line "continue" wakes a stopped program.
"""
import fcntl, json, os, pty, select, signal, struct, sys, termios

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(os.environ.get("TERMINAL_COLUMNS", "100")), 0, 0))


def say(text):
    os.write(1, text.encode())


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
            if line == b"continue":
                os.kill(pid, signal.SIGCONT)
            else:
                os.write(terminal, json.loads(line).encode())
    found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
    if found == 0:
        continue
    if os.WIFSTOPPED(status):
        mode = termios.tcgetattr(terminal)[3]
        say("\n@stopped %s\n" % ("raw" if not mode & termios.ICANON else "cooked"))
    elif os.WIFCONTINUED(status):
        say("\n@continued\n")
    else:
        say("\n@ended %d\n" % os.waitstatus_to_exitcode(status))
        sys.exit(0)
