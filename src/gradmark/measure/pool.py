"""Workers: where jobs are run. Each in a fresh process, or forked by a nursery of its engine.

In: jobs, from several threads at once if need be. Out: results.
"""

import tempfile
import threading

from gradmark.measure import nursery, process
from gradmark.measure.job import Job, Result
from gradmark.records import Settings


class Workers:
    """Fresh processes; with the setting `forked` one nursery for each engine and round, where the platform can."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.forked = settings.forked and nursery.possible()
        self.lock = threading.Lock()
        self.cache: tempfile.TemporaryDirectory[str] | None = None  # what compilers keep from process to process
        self.nurseries: dict[tuple[str, str, int], tuple[nursery.Nursery, threading.Lock]] = {}
        self.absent: dict[str, Result] = {}
        self.closed = False

    def run(self, job: Job) -> Result:
        """The result of a job. An engine that runs nothing here is asked only once."""
        known = self.absent.get(job.cell.engine)
        if known is not None:
            return known
        if self.closed:
            return nursery.ENDED
        result = self._of_nursery(job) if self.forked else process.run(job)
        if result.absent:
            self.absent[job.cell.engine] = result
        return result

    def _of_nursery(self, job: Job) -> Result:
        key = (job.cell.engine, job.kind, job.process)
        with self.lock:
            if key not in self.nurseries:
                for engine, kind, number in list(self.nurseries):
                    if (engine, kind) == key[:2] and number != job.process:  # its round is over
                        self.nurseries.pop((engine, kind, number))[0].close()
                self.cache = self.cache or process.cache()
                home = nursery.Nursery(job.cell.engine, self.settings, self.cache.name)
                self.nurseries[key] = (home, threading.Lock())
            home, alone = self.nurseries[key]
        with alone:
            return home.run(job)

    def close(self) -> None:
        """Ends everything that still runs; nothing is begun any more."""
        self.closed = True
        with self.lock:
            homes = [home for home, _ in self.nurseries.values()]
            self.nurseries.clear()
        for home in homes:
            home.close()
        process.end_all()
        if self.cache is not None:
            self.cache.cleanup()
            self.cache = None
