"""How long the workers of a run sleep, while they exist: what the kernel says of each thread's time on a CPU and of its time
in the queue for one. Other load on the machine lengthens the queue, not the sleep.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import pathlib
import threading
import time

EVERY_S = 0.01


def descendants(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            yield child
            yield from descendants(child)


class Idle:
    """with Idle() as idle: ...; then idle.share() of the workers' time (threads work-1, work-2 ...; work-0 reads)."""

    def __init__(self):
        self.seen, self.done = {}, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    def watch(self):
        while not self.done.wait(EVERY_S):
            try:
                self.look()
            except (OSError, ProcessLookupError):
                pass  # it has just ended

    def look(self):
        for pid in descendants(os.getpid()):
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                name = (task / "comm").read_text().strip()
                if not name.startswith("work-") or name == "work-0":
                    continue
                on_cpu, in_queue = map(int, (task / "schedstat").read_text().split()[:2])
                now = (time.monotonic(), 1e-9 * (on_cpu + in_queue))
                self.seen.setdefault(str(task), [now, now])[1] = now

    def share(self):
        elapsed = sum(last[0] - first[0] for first, last in self.seen.values())
        busy = sum(last[1] - first[1] for first, last in self.seen.values())
        return max(0.0, 1 - busy / elapsed) if elapsed > 0 else float("nan")
