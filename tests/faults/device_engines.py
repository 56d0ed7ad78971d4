"""Engines on a virtual device that go wrong, and one that says which process it is in."""

import dataclasses
import os
import signal
import time

from gradmark.engines.virtual import Virtual
from gradmark.records import TapeSize


class Resident(Virtual):
    """Its tape has as many instructions as its process has a number."""

    name = "resident"

    def changed(self, session):
        return dataclasses.replace(session, tape=lambda: TapeSize(instructions=os.getpid()))


class Another(Resident):
    name = "another"


class CrashesOnShared(Resident):
    name = "crashes-on-shared"

    def prepare(self, workload, inputs, params):
        if workload.name == "shared":
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().prepare(workload, inputs, params)


class HangsOnShared(Resident):
    name = "hangs-on-shared"

    def prepare(self, workload, inputs, params):
        if workload.name == "shared":
            time.sleep(60)
        return super().prepare(workload, inputs, params)


class RaisesOnShared(Resident):
    name = "raises-on-shared"

    def prepare(self, workload, inputs, params):
        if workload.name == "shared":
            raise RuntimeError("an illegal memory access was encountered")
        return super().prepare(workload, inputs, params)
