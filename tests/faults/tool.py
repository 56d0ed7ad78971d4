"""A tool of GradBench in plain Python: `hello`, and `lse` with as many runs as are asked for.

In: on the command line, what is wrong with it, if anything. It says that every run took 1000 ns, the first 9000.
"""

import json
import math
import os
import signal
import sys
import time

FIRST_NS, RUN_NS = 9000, 1000


def softmax(x):
    largest = max(x)
    e = [math.exp(number - largest) for number in x]
    total = sum(e)
    return [number / total for number in e]


def logsumexp(x):
    largest = max(x)
    return largest + math.log(sum(math.exp(number - largest) for number in x))


FUNCTIONS = {
    "square": lambda x: x * x,
    "double": lambda x: 2.0 * x,
    "primal": lambda given: logsumexp(given["x"]),
    "gradient": lambda given: softmax(given["x"]),
}


def timings(given):
    runs = given["min_runs"] if isinstance(given, dict) else 1
    return [{"name": "evaluate", "nanoseconds": RUN_NS if k else FIRST_NS} for k in range(runs)]


def evaluated(message, fault, count):
    function, given = message["function"], message["input"]
    output, times = FUNCTIONS[function](given), timings(given)
    time.sleep(sum(one["nanoseconds"] for one in times) / 1e9)
    if fault == "crash":
        print("no memory for the tape", file=sys.stderr)
        sys.exit(3)
    if fault == "crashes later" and count > 12:
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "closes":
        os.close(1)
        time.sleep(100)
    if fault == "hang":
        time.sleep(100)
    if fault == "says no":
        return {"success": False, "error": "Traceback:\n  line 1\nOverflow: too large"}
    if fault == "shape":
        output = [output]
    if fault == "wrong" and function in ("double", "gradient"):
        output = 1.001 * output if function == "double" else [1.001 * x for x in output]
    if fault == "nan" and function == "double":
        output = math.nan
    if fault == "no times":
        return {"success": True, "output": output}
    if fault == "too few runs":
        times = times[:1]
    if fault == "clock":
        times = [{"name": "evaluate", "nanoseconds": 10**15}]
    if fault == "negative":
        times = [{"name": "evaluate", "nanoseconds": -5}]
    return {"success": True, "output": output, "timings": times}


def answered(message, fault, count):
    match message["kind"]:
        case "start":
            return {"tool": "fake"}
        case "define" if fault == "no module":
            return {"success": False, "error": "not written yet"}
        case "define" if fault == "does not say":
            return {}
        case "define":
            return {"success": True}
        case "evaluate":
            return evaluated(message, fault, count)
    return {}


def main():
    fault = sys.argv[1] if len(sys.argv) > 1 else ""
    for count, line in enumerate(sys.stdin):
        message = json.loads(line)
        answer = {"id": message["id"], **answered(message, fault, count)}
        if message["kind"] == "evaluate":
            if fault == "order":
                answer["id"] += 1
            if fault == "noise":
                print("compiling ...")
            if fault == "a list":
                answer = [answer]
            if fault == "large":
                answer["error"] = "x" * 3_000_000
            if fault == "talks":
                print("x" * 100_000, file=sys.stderr, flush=True)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
