"""An open set of hostile and honest programs for ``selftest``: data, only ever executed in the sandbox.

Every program defines ``f(x)``, whose right answer is ``2 * x + 1``. ``@CANARY@`` is a file outside,
``@PORT@`` a listening TCP port on this machine, ``@PID@`` the caller's process.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Literal

Kind = Literal["cheat", "escape", "bomb", "honest"]


@dataclass(frozen=True)
class Program:
    """One program and what must be true of it.

    Args:
        name: Unique.
        kind: ``cheat`` (must not be counted as passed), ``escape`` (its ``f`` returns ``"ESCAPED"`` when it
            got out, and leaves traces the self-test looks for), ``bomb`` (must end by its limits, or fail) or
            ``honest`` (must pass).
        code: Its source.
    """

    name: str
    kind: Kind
    code: str


def _attempt(body: str, setup: str = "import os") -> str:
    """Return a program whose ``f`` tries ``body`` and says whether that went through."""
    inner = textwrap.indent(textwrap.dedent(body).strip(), "        ")
    return (
        f"{setup}\ndef f(x):\n    try:\n{inner}\n    except Exception:\n        return 'contained'\n"
        "    return 'ESCAPED'\n"
    )


_CHEATS = {
    "exits early with 0": "import sys\nsys.exit(0)",
    "os._exit in the call": "import os\ndef f(x): os._exit(0)",
    "SystemExit in the call": "def f(x): raise SystemExit(0)",
    "an object equal to everything": """
        class E:
            __eq__ = lambda s, o: True
            __hash__ = None
        def f(x): return E()
        """,
    "an int equal to everything": """
        class E(int):
            __eq__ = lambda s, o: True
            __hash__ = int.__hash__
        def f(x): return E(0)
        """,
    "mock.ANY": "from unittest.mock import ANY\ndef f(x): return ANY",
    "a type that lies about its class": """
        class E:
            __class__ = property(lambda s: int)
            __eq__ = lambda s, o: True
        def f(x): return E()
        """,
    "patched built-ins": """
        import builtins
        for name in ("len", "type", "isinstance", "all", "zip", "enumerate", "map"):
            setattr(builtins, name, lambda *a, **k: True)
        def f(x): return 0
        """,
    "patched json and codec": """
        import json, sys
        json.loads = json.dumps = lambda *a, **k: [True]
        for module in list(sys.modules.values()):
            for name in ("encode", "decode", "run_job", "_write_all"):
                if hasattr(module, name) and getattr(module, "__name__", "").startswith("pixelis"):
                    setattr(module, name, lambda *a, **k: b"true")
        def f(x): return 0
        """,
    "a verdict printed": "print('passed'); print('{\"passed\": true, \"reward\": 1.0}')\ndef f(x): return 0",
    "a patched stdout": """
        import sys
        class S:
            write = lambda s, t: 1
            flush = lambda s: None
        sys.stdout = S()
        def f(x): return 0
        """,
    "forged messages on every descriptor": """
        import os
        def f(x):
            for number in range(256):
                try: os.write(number, b'{"t":["value",0,7]}\\n{"t":["end",3]}\\n')
                except OSError: pass
            return 0
        """,
    "output after the last message": """
        import os
        def f(x):
            for line in (b'["value",0,7]', b'["value",1,21]', b'["value",2,7]', b'["end",3]'):
                os.write(3, b'{"t":' + line + b"}\\n")
            return 0
        """,
    "a verdict among the messages": """
        import os
        def f(x):
            os.write(3, b'{"t":["passed",true]}\\n')
            return 0
        """,
    "looks for expected values in all objects": """
        import gc, sys
        def f(x):
            for item in gc.get_objects():
                if isinstance(item, (list, tuple)) and len(item) == 3 and all(type(i) is int for i in item):
                    if item[0] == item[2] and item[0] != x: return item[0]
            return 0
        """,
    "looks for expected values in the frames": """
        import sys
        def f(x):
            frame = sys._getframe()
            while frame:
                for name, value in frame.f_locals.items():
                    if "expect" in name or "answer" in name: return value[0]
                frame = frame.f_back
            return 0
        """,
    "tampers with the harness's frame": """
        import sys, ctypes
        def f(x):
            frame = sys._getframe(1)
            frame.f_locals["value"] = 7
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
            return 0
        """,
    "knows the visible example only": "def f(x): return {3: 7}.get(x, 0)",
    "answers differently when asked again": """
        seen = {}
        def f(x):
            seen[x] = seen.get(x, -1) + 1
            return 2 * x + 1 + seen[x]
        """,
    "a float where an int belongs": "def f(x): return float(2 * x + 1)",
    "a bool where an int belongs": "def f(x): return True",
}

_ESCAPES = {
    "reads a file outside": _attempt("open('@CANARY@').read()"),
    "writes a file outside": _attempt("open('@CANARY@', 'w').write('x')"),
    "removes a file outside": _attempt("os.remove('@CANARY@')"),
    "truncates a file outside": _attempt("os.truncate('@CANARY@', 0)"),
    "reads through a symbolic link": _attempt("os.symlink('@CANARY@', 'l')\nopen('l').read()"),
    "links a file outside": _attempt("os.link('@CANARY@', 'h')"),
    "lists the root folder": _attempt("os.listdir('/')"),
    "lists the home folder": _attempt("os.listdir(os.path.expanduser('~root'))"),
    "reads the caller's memory": _attempt("open('/proc/@PID@/mem', 'rb')"),
    "reads the caller's environment": _attempt("open('/proc/@PID@/environ', 'rb').read()"),
    "reads the server's arguments": _attempt("open(f'/proc/{os.getppid()}/cmdline').read()"),
    "finds a secret in the environment": _attempt("assert os.environ"),
    "connects to a TCP port": _attempt("socket.create_connection(('127.0.0.1', @PORT@), 1)", "import socket"),
    "opens a UDP socket": _attempt("socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", "import socket"),
    "opens a local socket": _attempt("socket.socket(socket.AF_UNIX)", "import socket"),
    "sends to a local socket by a pair": _attempt(
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\na.sendto(b'x', '/dev/log')",
        "import socket",
    ),
    "forks": _attempt("if os.fork() == 0: os._exit(0)"),
    "starts a program": _attempt("os.posix_spawn('/bin/true', ['true'], {})"),
    "becomes a program": _attempt("os.execv('/bin/true', ['true'])"),
    "kills the server": _attempt("os.kill(os.getppid(), 9)", "import os"),
    "kills the caller": _attempt("os.kill(@PID@, 9)"),
    "kills everybody": _attempt("os.kill(-1, 9)"),
    "limits the server": _attempt(
        "assert os.getppid() > 1\nresource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))",
        "import os, resource",
    ),
    "arms a signal on the result pipe": _attempt(
        "fcntl.fcntl(3, fcntl.F_SETOWN, os.getppid())\nfcntl.fcntl(3, 10, 9)", "import os, fcntl"
    ),
    "arms SIGIO on the result pipe": _attempt("fcntl.fcntl(3, fcntl.F_SETFL, 0x2000)", "import fcntl"),
    "raises its limits": _attempt("resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "import resource"),
    "traces the server": _attempt(
        "libc = ctypes.CDLL(None)\nassert libc.ptrace(16, os.getppid(), 0, 0) == 0", "import os, ctypes"
    ),
    "enters a user namespace": _attempt("assert ctypes.CDLL(None).unshare(0x10000000) == 0", "import ctypes"),
    "uses io_uring": _attempt(
        "assert ctypes.CDLL(None).syscall(425, 8, ctypes.create_string_buffer(256)) >= 0", "import ctypes"
    ),
    "makes a process by clone3": _attempt(
        "assert ctypes.CDLL(None).syscall(435, ctypes.create_string_buffer(88), 88) >= 0", "import ctypes"
    ),
}

_BOMBS = {
    "endless loop": "def f(x):\n    while True: pass",
    "sleeps for ever": "import time\ndef f(x): time.sleep(10**6)",
    "ignores every signal": """
        import signal
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        def f(x):
            while True:
                try:
                    while True: pass
                except BaseException: pass
        """,
    "huge power": "def f(x): return len(str(10 ** 10 ** 8)) + (7 ** 10 ** 8) % 10",
    "catastrophic regex": "import re\ndef f(x): return re.match('(a|a)*$', 'a' * 64 + 'b')",
    "memory bomb": "def f(x):\n    kept = []\n    while True: kept.append(bytearray(1 << 20))",
    "list of lists": "def f(x):\n    a = [0]\n    while True: a = [a] * 10**7",
    "fork bomb": "import os\ndef f(x):\n    while True: os.fork()",
    "thread bomb": """
        import threading, time
        threading.stack_size(32768)
        def f(x):
            while True: threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
        """,
    "flood of output": "def f(x):\n    while True: print('x' * 100000)",
    "flood of results": "def f(x):\n    import os\n    while True: os.write(3, b'x' * 65536)",
    "huge return value": "def f(x): return 'x' * 10**8",
    "endless recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef f(x): return f(x) + 1",
    "endless recursion in C": """
        import sys
        sys.setrecursionlimit(10**9)
        class A:
            def __repr__(s): return repr(s)
        def f(x): return repr(A())
        """,
    "recursive return value": "def f(x):\n    a = []\n    a.append(a)\n    return a",
    "segmentation fault": "import ctypes\ndef f(x): return ctypes.string_at(0)",
    "kills itself": "import os\ndef f(x): os.kill(os.getpid(), 9)",
    "stops itself": "import os, signal\ndef f(x): os.kill(os.getpid(), signal.SIGSTOP)",
    "fills the scratch folder": """
        def f(x):
            for i in range(10**6): open(str(i), 'wb').write(b'x' * 10**6)
        """,
    "nested folders": "import os\ndef f(x):\n    while True:\n        os.mkdir('d'); os.chdir('d')",
    "a parser's nightmare": "x = " + "(" * 5000 + ")" * 5000,
    "a NUL byte": "def f(x):\n    return 2 * x + 1\n\0",
}

_HONEST = {
    "plain": "def f(x): return 2 * x + 1",
    "recursion": "def f(x): return 1 if x == 0 else 2 + f(x - 1)",
    "a class with slots": """
        class A:
            __slots__ = ('v',)
            def __init__(s, v): s.v = v
            def __call__(s): return 2 * s.v + 1
        def f(x): return A(x)()
        """,
    "a generator": """
        def g(x):
            for i in range(2 * x + 2): yield i
        def f(x):
            *_, last = g(x)
            return last
        """,
    "prints a lot": "def f(x):\n    for i in range(2000): print('step', i)\n    return 2 * x + 1",
    "a dataclass": """
        from dataclasses import dataclass
        @dataclass
        class P:
            v: int
        def f(x): return P(2 * x + 1).v
        """,
    "threads": """
        from concurrent.futures import ThreadPoolExecutor
        def f(x):
            with ThreadPoolExecutor(2) as p: return sum(p.map(int, [x, x, 1]))
        """,
    "asyncio": """
        import asyncio
        async def g(x):
            await asyncio.sleep(0)
            return 2 * x + 1
        def f(x): return asyncio.run(g(x))
        """,
    "a temporary file": """
        import tempfile
        def f(x):
            with tempfile.TemporaryFile('w+') as t:
                t.write(str(2 * x + 1)); t.seek(0)
                return int(t.read())
        """,
    "pickles its own class": """
        import pickle
        class P:
            def __init__(s, v): s.v = v
        def f(x): return pickle.loads(pickle.dumps(P(2 * x + 1))).v
        """,
    "deep recursion": """
        import sys
        sys.setrecursionlimit(20000)
        def g(n): return 1 if n == 0 else g(n - 1)
        def f(x): return 2 * x + g(5000)
        """,
    "shadows built-ins": "len = sum = list = str = type = print = None\ndef f(x): return 2 * x + 1",
    "an IntEnum": "import enum\nclass N(enum.IntEnum):\n    A = 7\n    B = 21\ndef f(x): return N(2 * x + 1)",
    "a lambda": "f = lambda x, *, k=1: 2 * x + k",
    "standard library": """
        import sqlite3, decimal, zlib, bisect, statistics
        def f(x): return sqlite3.connect(':memory:').execute('select 2 * ? + 1', (x,)).fetchone()[0]
        """,
    "a lowered limit": """
        import resource
        resource.setrlimit(resource.RLIMIT_STACK, resource.getrlimit(resource.RLIMIT_STACK))
        def f(x): return 2 * x + 1
        """,
    "a guard for scripts": """
        def f(x): return 2 * x + 1
        if __name__ == '__main__':
            print(f(int(input())))
        """,
}

_BY_KIND: dict[Kind, dict[str, str]] = {
    "cheat": _CHEATS,
    "escape": _ESCAPES,
    "bomb": _BOMBS,
    "honest": _HONEST,
}

PROGRAMS: tuple[Program, ...] = tuple(
    Program(name, kind, textwrap.dedent(code).lstrip("\n"))
    for kind, programs in _BY_KIND.items()
    for name, code in programs.items()
)
"""Every program, by kind."""
