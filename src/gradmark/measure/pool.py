"""The pool: starts workers, each a process of its own: fresh, or forked by a nursery of its engine. Rows on a device
share one process for each engine and round, which stays.

In: jobs, from several threads at once if need be. Out: results. What is asked is the orchestrator's to decide.
"""

import queue
import tempfile
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gradmark.measure import environment, nursery, process, resident
from gradmark.measure.job import Job, Result
from gradmark.measure.process import Place
from gradmark.records import Cell, Settings
from gradmark.records.cell import USUAL_DEVICE

# Processes that import before their turn leave so many cores to others, and this much memory is there for each: PyTorch
# takes about 1 GiB when it is imported.
CORES_OF_OTHERS, BYTES_AHEAD = 4, 4 << 30

T = TypeVar("T")
_Home = tuple[str, str, int, int]  # engine, kind of job, number of the process, and of the thread if several inspect


class _StreamEnded:
    """Says that one of several streams has nothing more."""


class Pool:
    """Workers of one run. With the setting `forked`, one nursery for each engine and round, where the platform can.

    places: where the cells of each side are measured; a side that is not named is measured here.
    """

    def __init__(self, settings: Settings, places: Mapping[str, Place] | None = None) -> None:
        self.settings = settings
        self.places = dict(places or {})
        self.forked = settings.forked and nursery.possible()
        self.lock = threading.Lock()
        self.cache: tempfile.TemporaryDirectory[str] | None = None  # what compilers keep from process to process
        self.nurseries: dict[_Home, tuple[nursery.Nursery, threading.Lock]] = {}
        self.residents: dict[_Home, tuple[resident.Resident, threading.Lock]] = {}
        self.absent: dict[tuple[str, str], Result] = {}
        self.ahead = min(environment.cores() - CORES_OF_OTHERS, (environment.memory_bytes() or 0) // BYTES_AHEAD)
        self.closed = False

    def run(self, job: Job) -> Result:
        """The result of a job. An engine that runs nothing here is asked only once."""
        asked = (job.cell.engine, job.cell.side)
        if asked in self.absent:
            return self.absent[asked]
        if self.closed:
            return nursery.ENDED
        place = self.places.get(job.cell.side)
        if place is None and job.cell.device != USUAL_DEVICE and job.kind in ("inspect", "time"):
            result = self._from_resident(job)
        elif place is None and self.forked:
            result = self._from_nursery(job)
        else:
            result = process.run(job, place=place)
        if result.absent:
            self.absent[asked] = result
        return result

    def instructions(self, job: Job) -> float | str:
        """Machine instructions of a job, or a string that says why there are none."""
        place = self.places.get(job.cell.side)
        return process.count_instructions(job, place)

    def parallel(self, streams: Sequence[Iterator[T]]) -> Generator[T, None, None]:
        """What the streams give, as soon as it is there; as many are worked on at once as there are cores.

        Whoever stops listening ends all that still runs.
        """
        items: queue.SimpleQueue[T | _StreamEnded | BaseException] = queue.SimpleQueue()
        over = threading.Event()

        def work(stream: Iterator[T]) -> None:
            try:
                while not over.is_set():
                    items.put(next(stream))
            except StopIteration:
                items.put(_StreamEnded())
            except BaseException as error:
                items.put(error)

        with ThreadPoolExecutor(environment.cores()) as threads:
            for stream in streams:
                threads.submit(work, stream)
            try:
                running = len(streams)
                while running:
                    item = items.get()
                    if isinstance(item, BaseException):
                        raise item
                    if isinstance(item, _StreamEnded):
                        running -= 1
                    else:
                        yield item
            except BaseException:  # interrupted: the executor waits for its threads, and they for their processes
                over.set()
                threads.shutdown(wait=False, cancel_futures=True)
                self.close()
                raise

    def _from_nursery(self, job: Job) -> Result:
        key = (job.cell.engine, job.kind, job.process, 0 if job.kind == "time" else threading.get_ident())
        with self.lock:
            if key not in self.nurseries:
                for other in list(self.nurseries):
                    if other[:2] == key[:2] and other[2] != job.process:  # its round is over
                        self.nurseries.pop(other)[0].close()
                if self.settings.shared_cache:
                    self.cache = self.cache or process.cache()
                home = nursery.Nursery(job.cell.engine, self.settings, self.cache)
                self.nurseries[key] = (home, threading.Lock())
            home, alone = self.nurseries[key]
        with alone:
            return home.run(job)

    def _from_resident(self, job: Job) -> Result:
        """What is timed has the device to itself: processes that had a job of another engine are ended first."""
        key = (job.cell.engine, job.kind, job.process, 0 if job.kind == "time" else threading.get_ident())
        with self.lock:
            if job.kind == "time":
                for other in [known for known, (home, _) in self.residents.items() if known != key and home.asked]:
                    self.residents.pop(other)[0].close()
            home, alone = self._resident(key)
        with alone:
            return home.run(job)

    def import_ahead(self, cell: Cell, number: int) -> None:
        """Lets the process that will time a cell on a device in a round import its engine now, as far as there is room.

        That touches no device. Compilers and engines take seconds to import, and each round has processes of its own.
        """
        with self.lock:
            if len(self.residents) < self.ahead and cell.side not in self.places and not self.closed:
                self._resident((cell.engine, "time", number, 0))[0].started()

    def _resident(self, key: _Home) -> tuple[resident.Resident, threading.Lock]:
        if key not in self.residents:
            self.cache = self.cache or process.cache()
            self.residents[key] = (resident.Resident(key[0], self.settings, self.cache), threading.Lock())
        return self.residents[key]

    def close(self) -> None:
        """Ends everything that still runs; nothing is begun any more."""
        self.closed = True
        with self.lock:
            nurseries = [home for home, _ in self.nurseries.values()]
            residents = [home for home, _ in self.residents.values()]
            self.nurseries.clear()
            self.residents.clear()
        for each in nurseries:
            each.close()
        for one in residents:
            one.close()
        process.end_all()
        if self.cache is not None:
            self.cache.cleanup()
            self.cache = None
