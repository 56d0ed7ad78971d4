"""An engine whose import waits: for standard input, and then as long as it is told."""

import os
import sys
import time

from faults.engines import Faulty

sys.stdin.read()
time.sleep(float(os.environ.get("WAITING_S", "0")))


class Own(Faulty):
    name = "waiting"
