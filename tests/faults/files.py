"""Files that do harm when they are imported: what each does first, and what is said of it; and some that do not."""

ENDLESS = "while True: pass"
HARMS = {
    "os._exit": (
        "import os; os._exit(0)",
        "its process ended with exit code 0 before the file was loaded; does it call os._exit?",
    ),
    "exit code": ("import os; os._exit(7)", "its process ended with exit code 7"),
    "sys.exit": ("import sys; sys.exit(0)", "line 1, `import sys; sys.exit(0)`: SystemExit: 0"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "its process was ended by SIGSEGV"),
    "interrupt": ("raise KeyboardInterrupt", "its process was ended by SIGINT: KeyboardInterrupt"),
    "standard input": ("input()", "line 1, `input()`: EOFError: EOF when reading a line"),
    "memory": ("bytearray(1 << 40)", "line 1, `bytearray(1 << 40)`: MemoryError: "),
    "builtins": ("import builtins; builtins.len = None", "its process ended with exit code 1: "),
    "words": ("raise ValueError('x' * 50_000_000)", "x… (49,"),
}
HARMLESS = {
    "thread": "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()",
    "chdir": "import os; os.chdir('/')",
    "exit handler": "import atexit, time; atexit.register(time.sleep, 600)",
    "noise": "print('{}' * 100_000); import os; os.write(1, b'noise')",
    "path": "import sys; sys.path.clear()",
}
WORKLOAD = """
from gradmark import workload

@workload(suite="mine", stresses="x", sizes={"n": [1, 2, 3, 4, 5]})
def f(ops, x, *, n):
    return x * n
"""
HYPOTHESIS = """
from gradmark.analyse.hypotheses import Arm, Hypothesis

h = Hypothesis("h", "c", Arm("null", "f", "total", {"n": 1}), Arm("tapegrad", "f", "total", {"n": 1}))
"""
ENGINE = """
from gradmark.engines.tapegrad import Tapegrad

class Own(Tapegrad):
    pass
"""
