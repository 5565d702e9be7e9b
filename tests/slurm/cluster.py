#!/usr/bin/env python3
"""A real SLURM on this machine alone, for tests: Debian's daemons, several virtual nodes, everything in one folder.

SPDX-License-Identifier: BSD-3-Clause

    tests/slurm/cluster.py up [--nodes N] [FOLDER]     prints the line that a shell needs: eval "$(tests/slurm/cluster.py up)"
    tests/slurm/cluster.py down [FOLDER]

Needs root (the nodes start jobs of any user), but neither systemd nor cgroups. One cluster at a time: its ports are fixed.
The folder (default: stiffit-slurm in the system's folder for temporary files) must be on a short path, because sockets lie in
it. `Cluster` is the same for tests in Python.
"""
import argparse
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "scancel")
MAX_PATH = 60  # a Unix socket's path has 107 characters
CONTROL_PORT, NODE_PORT = 17820, 17830

# What differs from SLURM's own defaults, and why:
#   cred_expire    a requeued job waits until its credential has gone: 120 s otherwise
#   ProctrackType, TaskPlugin   the usual ones need cgroups, or privileges that a container has not
#   TmpFS    nodes on one machine must not share what srun --mpi=pmix puts there
#   KillWait       seconds between SIGTERM and SIGKILL: 30 otherwise
#   the scheduler's intervals   a test does not wait for batches of submissions
CONFIGURATION = """\
ClusterName=stiffit
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={control_port}
{listen}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU={memory_per_cpu}
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
TmpFS={folder}/tmp.%n
KillWait=5
SlurmdTimeout=10
ReturnToService=2
NodeName=n[1-{n_node}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first_port}-{last_port}] CPUs={cpus} \
RealMemory={memory}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class ClusterError(Exception):
    """The cluster cannot do what was asked; the text says why."""


def missing():
    """Which of the programs that a cluster needs are not installed; for a test's reason to skip."""
    return [name for name in NEEDED if not shutil.which(name)]


def default_folder():
    return pathlib.Path(tempfile.gettempdir()) / "stiffit-slurm"


def wait_until(condition, seconds, what):
    """Polls until condition() is true and returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise ClusterError(f"{what}: not within {seconds:g} s")
        time.sleep(0.1)


def is_running(pid, name):
    """Whether the process is there, is what it was, and is not merely waiting to be reaped."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return re.search(rf"^Name:\s+{re.escape(name)}$", status, re.M) and not re.search(r"^State:\s+Z", status, re.M)


def parent_of(pid):
    """0 where the process has gone."""
    try:
        return int(re.search(r"^PPid:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1])
    except OSError:
        return 0


def kill_all(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Cluster:
    def __init__(self, folder=None, n_node=4):
        self.folder = pathlib.Path(folder or default_folder()).absolute()
        self.n_node = n_node
        if len(str(self.folder)) > MAX_PATH:
            raise ClusterError(f"{self.folder}: longer than {MAX_PATH} characters, which sockets in it do not allow")

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        self.down()

    @property
    def environment(self):
        """For processes that are to see this cluster: without traces of another one that we may run on."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "SRUN"))}
        return {**kept, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *command, check=True, cwd=None, timeout=60, **variables):
        """Runs a command that sees the cluster; returns what it printed."""
        done = subprocess.run([str(word) for word in command], env={**self.environment, **variables}, cwd=cwd, text=True,
                              capture_output=True, timeout=timeout, check=False)
        if check and done.returncode:
            raise ClusterError(f"exit code {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
        return done.stdout

    # --- up ---

    def _configure(self):
        hardware = self.run("slurmd", "-C")
        cpus = int(re.search(r"\bCPUs=(\d+)", hardware)[1])
        memory = int(re.search(r"\bRealMemory=(\d+)", hardware)[1]) // self.n_node
        # Kept off the network where this host's own name means loopback; SLURM listens on that name's address then.
        name = subprocess.run(["getent", "ahostsv4", os.uname().nodename], capture_output=True, text=True, check=False)
        loopback = name.stdout.startswith("127.0.0.1 ")
        listen = "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny" if loopback else ""
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.folder, listen=listen, control_port=CONTROL_PORT, memory_per_cpu=memory // cpus, n_node=self.n_node,
            first_port=NODE_PORT, last_port=NODE_PORT + self.n_node - 1, cpus=cpus, memory=memory))

    def _start_munge(self):
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
        self.run("munged", *(f"--{what}={self.folder}/{name}" for what, name in (
            ("key-file", "munge.key"), ("socket", "munge.socket"), ("pid-file", "munged.pid"), ("log-file", "munged.log"),
            ("seed-file", "munge.seed"))))

    def start_node(self, node):
        self.run("slurmd", "-N", node)

    def nodes(self):
        return [f"n{i}" for i in range(1, self.n_node + 1)]

    def up(self):
        if missing():
            raise ClusterError(f"not installed: {', '.join(missing())} (Debian: munge, slurmctld, slurmd, slurm-client)")
        if os.geteuid():
            raise ClusterError("only root can start a cluster")
        if self.folder.exists():
            self.down()
        for name in ["state"] + [f"tmp.{node}" for node in self.nodes()]:
            (self.folder / name).mkdir(parents=True, mode=0o755)
        self.folder.chmod(0o755)  # munged wants that, whatever the umask
        try:
            self._configure()
            self._start_munge()
            self.run("slurmctld")
            for node in self.nodes():
                self.start_node(node)
            wait_until(self.is_idle, 30, "all nodes idle")
        except (ClusterError, subprocess.TimeoutExpired) as fault:
            logs = "".join(f"\n--- {log.name}\n" + "".join(log.read_text(errors="replace").splitlines(True)[-5:])
                           for log in sorted(self.folder.glob("*.log")))
            self.down()
            raise ClusterError(f"{fault}{logs}") from fault

    def is_idle(self):
        states = self.run("sinfo", "--noheader", "--Node", "--format=%T", check=False).split()
        return states.count("idle") == self.n_node

    # --- down ---

    def _pids(self, pattern="*.pid"):
        for file in self.folder.glob(pattern):
            name = file.name.split(".")[0]
            text = file.read_text().strip()
            if text.isdigit() and is_running(int(text), name):
                yield int(text), name

    def kill_node(self, node):
        """Ends a node's daemon and everything that its jobs left running, as if the machine had lost its power."""
        for pid, name in self._pids(f"slurmd.{node}.pid"):
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda p=pid, n=name: not is_running(p, n), 10, f"end of {node}")
        jobs = list(self._processes(lambda variables: f"SLURMD_NODENAME={node}".encode() in variables))
        # The steps' keepers first, or they would report how their jobs ended.
        keepers = {parent for parent in map(parent_of, jobs) if is_running(parent, "slurmstepd")}
        kill_all(keepers)
        kill_all(jobs)
        (self.folder / f"slurmd.{node}.pid").unlink(missing_ok=True)

    def kill_task(self, job, number):
        """Ends all processes of one task of a job's steps."""
        kill_all(self._processes(lambda variables: {f"SLURM_JOB_ID={job}".encode(), f"SLURM_PROCID={number}".encode(),
                                                    b"SLURM_STEP_ID=0"} <= set(variables)))

    def _processes(self, belongs=lambda variables: True):
        """Steps and jobs of this cluster: its configuration is named in their environment, and no other's is."""
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
                is_step = (entry / "comm").read_text().strip() == "slurmstepd"
            except OSError:
                continue
            is_job = any(variable.startswith(b"SLURM_JOB_ID=") for variable in variables)
            if mark in variables and (is_step or is_job) and belongs(variables):
                yield int(entry.name)

    def down(self):
        """Jobs first, by way of SLURM: they outlive their daemons by design. Nothing is left but what jobs wrote."""
        if list(self._pids("slurmctld.pid")):
            self.run("scancel", "--quiet", "--user=root", check=False)
            try:
                wait_until(lambda: not self.run("squeue", "--noheader", check=False).strip(), 20, "end of the jobs")
            except (ClusterError, subprocess.TimeoutExpired):
                pass  # they are killed below
        daemons = list(self._pids())
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid, name in daemons:
                if is_running(pid, name):
                    os.kill(pid, number)
            try:
                wait_until(lambda: not any(is_running(*daemon) for daemon in daemons), 10, "end of the daemons")
                break
            except ClusterError:
                pass
        kill_all(list(self._processes()))
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- jobs ---

    def submit(self, *arguments, cwd=None, **variables):
        """sbatch; returns the job's number."""
        return int(self.run("sbatch", "--parsable", *arguments, cwd=cwd, **variables).split(";")[0])

    def state(self, job):
        """Of a job or an array's task ("12_3"): RUNNING, COMPLETED, ...; of an array: of all its tasks, sorted."""
        shown = self.run("scontrol", "--oneliner", "show", "job", str(job), check=False)
        return " ".join(sorted(re.findall(r"\bJobState=(\w+)", shown)))

    def wait(self, job, seconds=120):
        """Until no task of it is pending, running or about to be; returns the states."""
        busy = re.compile(r"PENDING|RUNNING|CONFIGURING|COMPLETING|SUSPENDED|REQUEUED|REQUEUE_HOLD|STAGE_OUT")

        def ended():
            state = self.state(job)
            return None if busy.search(state) else state or "gone"
        return wait_until(ended, seconds, f"end of job {job}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["up", "down"])
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("folder", nargs="?")
    arguments = parser.parse_args()
    try:
        cluster = Cluster(arguments.folder, arguments.nodes)
        if arguments.what == "up":
            cluster.up()
            print(f"export SLURM_CONF={cluster.folder}/slurm.conf")
        else:
            cluster.down()
    except ClusterError as fault:
        sys.exit(f"cluster: {fault}")


if __name__ == "__main__":
    main()
