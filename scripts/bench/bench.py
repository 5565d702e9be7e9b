#!/usr/bin/env python3
"""`make bench`: speed as ratios measured in one run, printed and written to bench.json in the build folder.

SPDX-License-Identifier: BSD-3-Clause

    scripts/bench/bench.py [--strict] [--quick] [--repeats N] [WORD ...]
    WORD: scipy numbalsoda lanes limit optimizers evaluation adjoint text workers experiments petab share overhead
          fairness million merge whole whole-million starts shared mixed

whole (beside the program that OLD names), whole-million, starts, shared and mixed run only when they are named: they take long.
whole=NAME[,NAME...] measures these rows of it alone, and keeps the others as they were measured before.
--strict: exit code 1 if a target is missed; without it a missed target is only printed: a loaded machine misses some.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # SciPy's side runs on one core, too
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "e2e")]

import numpy as np  # noqa: E402

import experiments  # noqa: E402
import fairness  # noqa: E402
from idle import Idle  # noqa: E402
import helpers as h  # noqa: E402
import joint  # noqa: E402
import lanes  # noqa: E402
import limit  # noqa: E402
import merge  # noqa: E402
import mixed_effects  # noqa: E402
import model_text  # noqa: E402
import overhead  # noqa: E402
import petab  # noqa: E402
import rivals  # noqa: E402
import scipy_loops  # noqa: E402
import share  # noqa: E402
import starts  # noqa: E402
import starts_problems  # noqa: E402
import sundials_build  # noqa: E402
import tolerances  # noqa: E402
import whole  # noqa: E402
from measure import measure  # noqa: E402


class Bench:
    """Collects figures and says which targets are met."""

    def __init__(self, tmp, quick):
        self.tmp, self.quick = tmp, quick
        self.report, self.missed = {}, []
        self.rows, self.repeats = [*whole.ROWS, *whole.PAIRS], whole.REPEATS  # of the part whole

    def line(self, what, value, target=None, at_least=True):
        """Prints one ratio; `target` None: only for information."""
        verdict = ""
        if target is not None:
            met = value >= target if at_least else value <= target
            verdict = f"  (target: {'at least' if at_least else 'at most'} {target:g}, {'met' if met else 'MISSED'})"
            if not met:
                self.missed.append(what)
        print(f"  {what:58} {value:10.4g}{verdict}", flush=True)

    def scipy(self):
        print("Fits per second against a Python loop, one core each, rtol 1e-6:")
        targets = {("alpha-pinene", "bdf_lbfgsb"): 100, ("alpha-pinene", "lsoda_least_squares"): 10}
        self.report["scipy"] = {}
        for case in (scipy_loops.pinene_case(), scipy_loops.robertson_case()):
            figures = scipy_loops.compare(case, self.tmp, 2000 if not self.quick else 300,
                                          10 if not self.quick else 2, 3)
            self.report["scipy"][case.name] = figures
            self.line(f"{case.name}: stiffit, fits/s (whole process)", figures["stiffit_fits_per_second"])
            for name, loop in figures["loops"].items():
                self.line(f"{case.name}: {name}, fits/s", loop["fits_per_second"])
                self.line(f"{case.name}: stiffit / {name}", loop["ratio"], targets.get((case.name, name)))
                for apart in loop["objectives_apart"]:
                    print(f"    optima differ at {apart['dataset']}: stiffit {apart['stiffit']:.6g}, SciPy "
                          f"{apart['scipy']:.6g} ({apart['who']})")

    def numbalsoda(self):
        print("Fits per CPU second against numbalsoda with hand-written sensitivity equations and MINPACK's lm, rtol 1e-6:")
        python, why = rivals.environment()
        if not python:
            print(f"  skipped: no virtual environment with numbalsoda: {why}")
            return
        self.report["numbalsoda"] = {}
        for case in rivals.cases():
            has_lanes = not lanes.refusal(case, self.tmp)
            figures = rivals.compare(case, python, self.tmp, 2000 if not self.quick else 400, 3 if not self.quick else 1)
            self.report["numbalsoda"][case.name] = figures
            for name in figures["names"]:
                found = figures[name]
                self.line(f"{case.name}: {name}, ms a fit", found["ms_per_fit"])
                long = found.get("long_over_median")
                print(f"    {found['evaluations']:.2f} evaluations a fit, {found['at_optimum']} of {figures['datasets']} at "
                      f"the optimum{f', a long fit costs {long:.0f} times a short one' if long else ''}")
            best = figures["best"]
            target = (8 if case.is_long is not None else 10) if has_lanes else None
            for loop in rivals.OPTIMIZERS:
                self.line(f"{case.name}: stiffit ({best}) / {loop}", figures[best]["ratio"][loop], target)
            self.line(f"{case.name}: stiffit's share of fits at the optimum", figures[best]["at_optimum"] / figures["datasets"],
                      rivals.LEAST_AT_OPTIMUM)

    def lanes(self):
        print(f"Lanes against --engine cvodes, {lanes.described()}:")
        robertson, pinene, mix = rivals.cases()
        why = lanes.refusal(robertson, self.tmp)
        report = self.report["lanes"] = {"evaluations": lanes.evaluations(self.tmp), "fits": {}}
        for name, figures in report["evaluations"].items():
            for rtol in map("{:g}".format, lanes.RTOLS):
                found = figures[rtol]
                self.line(f"{name}: CVODES at {rtol}, us an evaluation", found["cvodes_us"])
                if "ratio" in found:
                    self.line(f"{name}: lanes at {found['lanes_rtol']:.2g}, as accurate / CVODES", found["ratio"],
                              figures["most"], False)
                else:
                    print(f"  {name}: no lanes: {found.get('refusal', 'not as accurate at any tolerance')}")
        if why:
            print(f"  whole fits, and lanes in use: skipped: {why}")
            return
        for case, target in ((robertson, 8), (pinene, 8), (mix, None)):
            found = report["fits"][case.name] = lanes.whole_fits(case, self.tmp, 2000 if not self.quick else 400,
                                                                 5 if not self.quick else 1)
            self.line(f"{case.name}: fits per CPU second / --engine cvodes", found["ratio"], target)
            for engine, share in found["at_lowest"].items():
                self.line(f"{case.name}: share at the lower objective of both, {engine}", share,
                          0.99 if engine == "auto" else None)
        for case in (robertson, pinene):
            share = report.setdefault("in_use", {})[case.name] = lanes.in_use(case, self.tmp, 10000 if not self.quick else 1000)
            if share is None:
                print(f"  {case.name}: lanes in use: skipped: the result does not say")
            else:
                self.line(f"{case.name}: share of the lanes in use", share, 0.9)

    def limit(self):
        print("Whole runs over hand-written programs for one model, which do nothing else, one core:")
        self.report["limit"] = {}
        for name, case in limit.cases(200).items():
            found = limit.compare(name, case, self.tmp, *((20000, 5) if not self.quick else (2000, 1)))
            self.report["limit"][case.name] = found
            limit.show(self.line, case.name, found)

    def optimizers(self):
        print("Default runs: evaluations a fit, fits at the optimum, and fits per second against L-BFGS, one thread:")
        n = 1000 if not self.quick else 100
        self.report["optimizers"] = {}
        for case in (scipy_loops.robertson_case(n), scipy_loops.pinene_case(n)):
            path = self.tmp / f"optimizers-{case.name}.h5"
            case.write(path, n)
            judge = tolerances.Case(case.name, "bench", path)
            seconds, fits = {}, {}
            ways = {"default": (), "lbfgs": ("--optimizer", "lbfgs"),
                    "lbfgs, adjoint gradients": ("--optimizer", "lbfgs", "--gradient", "adjoint")}
            for _ in range(3 if not self.quick else 1):  # one after the other, so that other load hits all alike
                for way, args in ways.items():
                    output = self.tmp / "optimizers.result.h5"
                    output.unlink(missing_ok=True)
                    figures = measure([h.STIFFIT, "run", path, "--trust", "-q", "-j", 1, "-o", output, *args],
                                      self.tmp / "figures.json", env=h.environment())
                    assert figures["code"] in (0, 1), figures["stderr"]
                    seconds.setdefault(way, []).append(figures["cpu"])
                    fits[way] = h.read_fits(output)
            known = judge.from_points(self.tmp, fits["default"]["parameters"], False)["objective"]
            report = self.report["optimizers"][case.name] = {"datasets": n}
            for way, found in fits.items():
                tight = judge.tight_objective(self.tmp, found["parameters"])
                report[way] = {"cpu_s": seconds[way], "evaluations": float(np.median(found["evaluations"])),
                               "converged": int(np.sum(found["status"] == "converged")),
                               "at_optimum": int(np.sum(tight <= known * (1 + 1e-6)))}
                ratio = float(np.median([a / b for a, b in zip(seconds[way], seconds["default"])]))
                report[way]["default_is_faster"] = ratio
                default = way == "default"
                self.line(f"{case.name}: {way}: evaluations a fit, median", report[way]["evaluations"],
                          15 if default else None, at_least=False)
                self.line(f"{case.name}: {way}: at the optimum, of {n}", report[way]["at_optimum"], n if default else None)
                if not default:
                    self.line(f"{case.name}: fits per CPU second, default / {way}", ratio, 3 if way == "lbfgs" else None)

    def workers(self):
        print("Two workers against one, Robertson:")
        n = 12000 if not self.quick else 1000
        case = scipy_loops.robertson_case()
        case.write(self.tmp / "w.h5", n)
        walls, cpu, idle = {1: [], 2: []}, {1: [], 2: []}, {1: [], 2: []}
        for _ in range(15 if not self.quick else 2):
            for workers in walls:
                figures = measure([h.STIFFIT, "run", self.tmp / "w.h5", "--trust", "-q", "-j", workers, "--overwrite"],
                                  self.tmp / "figures.json", env=h.environment())
                walls[workers].append(figures["wall"])
                cpu[workers].append(figures["cpu"])
        for _ in range(5 if not self.quick else 1):  # apart from the rest: who watches takes 3 % of a CPU
            for workers, shares in idle.items():
                with Idle() as sleep:
                    fairness.follow(self.tmp / "w.h5", self.tmp / "w.result.h5", workers)
                shares.append(sleep.share())
        control = self.side_by_side("w.h5", np.median(walls[1]))
        ratio = float(np.median([a / b for a, b in zip(walls[1], walls[2])]))
        extra = share.extra_of_two(case, self.tmp)
        self.report["workers"] = {"fits": n, "process_s": walls, "ratio_of_process": ratio, "cpu_s": cpu,
                                  "two_processes": control, "idle": idle, "extra_instructions": extra,
                                  "cpus": len(os.sched_getaffinity(0))}
        self.line("two workers / one, whole process", ratio, 1.95)
        # Undisturbed by other load: 1 means that two workers spend no more CPU time than one.
        self.line("two separate processes / one: what the machine gives", control)
        self.line("CPU time of one worker / of two", float(np.median(cpu[1]) / np.median(cpu[2])))
        pairs = sorted(a / b for a, b in zip(walls[1], walls[2]))
        sleep, cut = sorted(idle[2]), len(pairs) // 5  # of 15, the 4th to the 12th hold the median in 96 of 100 cases
        print(f"  of {len(pairs)} pairs: ratio {pairs[cut]:.3f} to {pairs[-1 - cut]:.3f}; idle time of two workers "
              f"{100 * np.median(sleep):.2f} % ({100 * sleep[cut]:.2f} to {100 * sleep[-1 - cut]:.2f}), their extra "
              f"instructions {'not counted' if extra is None else f'{100 * extra:.2f} %'}")
        if extra is not None:
            self.line("idle time and extra instructions of two workers", float(np.median(sleep)) + extra, 0.025, False)

    def side_by_side(self, problem, alone):
        """Twice the work in two processes of one worker each, over `alone` s for one: 2 on a machine that is free."""
        ratios = []
        for _ in range(3 if not self.quick else 1):
            outputs = [self.tmp / f"side{i}.h5" for i in range(2)]
            began = time.monotonic()
            both = [subprocess.Popen([str(h.STIFFIT), "run", str(self.tmp / problem), "--trust", "-q", "-j", "1", "-o",
                                      str(output)], env=h.environment()) for output in outputs]
            for process in both:
                process.wait()
            ratios.append(2 * alone / (time.monotonic() - began))
            for output in outputs:
                output.unlink()
        return float(np.median(ratios))

    def experiments(self):
        print("Fits over several experiments:")
        folder = self.tmp / "experiments"
        folder.mkdir()
        figures = self.report["experiments"] = experiments.measure_all(folder, self.quick)
        for engine, found in figures.items():
            n = found["experiments"]
            self.line(f"{engine}: a fit over {n} / {n} fits, CPU time", found["cost"], 1.05, at_least=False)
            self.line(f"{engine}: a fit over {n}, two workers / one, undisturbed", found["two_workers"], 1.9)
            self.line(f"{engine}: the same by the clock, with the machine's load", found["two_workers_wall"])

    def petab(self):
        print("SBML with 500 species and 800 reactions; PEtab with 500 conditions, 100 parameters, 10,000 measurements:")
        folder = self.tmp / "petab"
        folder.mkdir()
        figures = self.report["petab"] = petab.measure_all(folder, self.quick)
        for name, what, most in (("sbml_text", "SBML to text", 2), ("sbml_plugin", "text to plugin", 10),
                                 ("import", "import of PEtab", 5)):
            self.line(f"{what}, seconds", figures[name]["wall"], most, at_least=False)
            self.line(f"{what}, CPU seconds", figures[name]["cpu"])
        for engine in ("cvodes", "lanes"):
            found = figures[engine]
            self.line(f"{engine}: objective with gradient / its simulations", found["cost"], 1.05, at_least=False)
            self.line(f"{engine}: two workers / one, undisturbed", found["two_workers"], 1.9)
            self.line(f"{engine}: the same by the clock, with the machine's load", found["two_workers_wall"])

    def share(self):
        print("CPU time outside CVODES and the model:")
        self.report["share_outside"] = {}
        for case, n in ((scipy_loops.robertson_case(), 4000), (scipy_loops.pinene_case(), 4000)):
            folder = self.tmp / f"share-{case.name}"
            folder.mkdir()
            figures = share.share_outside(case, folder, 200 if not self.quick else 40, n)
            self.report["share_outside"][case.name] = figures
            if not figures or "error" in figures:
                print(f"  skipped: no valgrind, or it failed: {figures}")
                continue
            self.line(f"{case.name}: share outside, of {n} fits", figures["share"], 0.03, at_least=False)
            self.line(f"{case.name}: of its instructions alone", figures["user_instructions_outside"])

    def overhead(self):
        n = 10000 if not self.quick else 500
        print(f"Journal and supervision of {n} fits, an upper bound (target: 1 % or 50 ms of CPU time):")
        folder = self.tmp / "overhead"
        folder.mkdir()
        figures = self.report["overhead"] = overhead.overhead(scipy_loops.pinene_case(), folder, n)
        allowed = max(0.01, 0.05 / figures["cpu_s"])
        self.line("alpha-pinene: CPU time of the run, s", figures["cpu_s"])
        self.line("alpha-pinene: overhead, s", figures["overhead_s"])
        self.line("alpha-pinene: overhead's share of it", figures["share"], allowed, at_least=False)

    def evaluation(self):
        print("One evaluation with sensitivities against stock CVODES forward sensitivities, same library:")
        program = h.BUILD / "bench" / "bench_ode_sensitivity"
        models = [str(h.model(name)) for name in ("robertson", "alpha-pinene")]
        done = subprocess.run([str(program), "--json", *models], capture_output=True, text=True, check=True)
        figures = json.loads(done.stdout)
        self.report["evaluation"] = figures
        for name, case in figures.items():
            if not isinstance(case, dict) or "ratio" not in case:
                continue
            self.line(f"{name}: ours / stock", case["ratio"], 0.4 if name == "robertson" else None, at_least=False)
            if "ours_error" in case and "stock_error" in case:
                self.line(f"{name}: error of the state, ours / stock", case["ours_error"] / case["stock_error"],
                          1.0 if name == "robertson" else None, at_least=False)
                self.line(f"{name}: error of the sensitivities, ours / stock",
                          case["ours_sensitivity_error"] / case["stock_sensitivity_error"],
                          1.0 if name == "robertson" else None, at_least=False)

    def adjoint(self):
        print("Adjoint gradients against forward sensitivities, and whole fits by each:")
        sizes = [(50, 300, 12)] + [(5, 200, times) for times in (2, 12, 50, 200)]
        words = [str(x) for size in sizes for x in size]
        done = subprocess.run([str(h.BUILD / "bench" / "bench_ode_adjoint"), "--json", *words], capture_output=True, text=True,
                              check=True)
        gradients = json.loads(done.stdout)["cases"]
        words = [str(x) for size in sizes for x in ("network", *size)]
        done = subprocess.run([str(h.BUILD / "bench" / "bench_fit_crossover"), "--json", "--fits",
                               "3" if not self.quick else "1", *words], capture_output=True, text=True, check=True)
        fits = json.loads(done.stdout)
        self.report["adjoint"] = {"gradients": gradients, "fits": fits}
        for gradient, fit in zip(gradients, fits):
            what = f"{gradient['states']} states, {gradient['parameters']} parameters, {gradient['times']} times: "
            self.line(what + "forward / adjoint", gradient["ratio"], 5 if gradient["states"] == 50 else None)
            faster = "adjoint" if gradient["ratio"] > 1 else "forward"
            self.line(what + f"auto: {gradient['rule']}; faster", float(gradient["rule"] == faster), 1)
            self.line(what + "fit by trf / by lbfgs", fit["trf_over_lbfgs"], 1)

    def text(self):
        print("One evaluation with sensitivities, model text against hand-written C; and building models:")
        self.report["text"] = {"evaluation": model_text.against_c(self.tmp), "building": model_text.building(self.tmp)}
        for name, figures in self.report["text"]["evaluation"].items():
            self.line(f"{name}: model text / C", figures["ratio"], 1.05, at_least=False)
        for (name, figures), limit in zip(self.report["text"]["building"].items(), (1, 30)):
            self.line(f"{name}: model build, s", figures["wall"], limit, at_least=False)
            self.line(f"{name}: largest process, MiB", figures["max_rss_mib"], 1024, at_least=False)

    def fairness(self):
        print(f"{fairness.N_LONG} long van der Pol datasets before {fairness.N_CHEAP} cheap ones, two workers:")
        figures = fairness.fairness(self.tmp, 5 if not self.quick else 1)
        self.report["fairness"] = figures
        self.line("work of a long one / median", figures["long_over_median"])
        self.line("end of the last cheap one / cheap ones alone", figures["last_cheap_over_alone"], 2.5, at_least=False)
        self.line("whole run / max(total/2, longest)", figures["whole_over_bound"], 1.15, at_least=False)

    def million(self):
        self.one_state("million", 50000 if not self.quick else 5000)

    def starts(self):
        n = 100 if not self.quick else 10
        print(f"{n} random starts of problems like those of systems biology:")
        python, why = starts.python_of_fides()
        if not python:
            print(f"  fides and trf: skipped: {why}")
        self.report["starts"] = {}
        for name in starts_problems.PROBLEMS:
            self.report["starts"][name] = starts.measure_one(name, self.tmp, n, python)
            starts.show(self.line, name, self.report["starts"][name])

    def shared(self):
        print("One fit over many datasets, 3 parameters each and 5 shared:")
        folder = self.tmp / "shared"
        folder.mkdir()
        figures = self.report["shared"] = joint.measure_all(folder, self.quick)
        for n, ways in figures["scale"].items():
            for way, found in ways.items():
                self.line(f"{n} datasets, {way}: evaluations a dataset", found["evaluations"])
                self.line(f"{n} datasets, {way}: CPU time, us a dataset", 1e6 * found["cpu"] / n)
            self.line(f"{n} datasets: evaluations, shared / independent",
                      ways["shared"]["evaluations"] / ways["independent"]["evaluations"], 2, at_least=False)
            self.line(f"{n} datasets: largest process, MiB", ways["shared"]["max_rss_mib"], 1024, at_least=False)
        if figures["outside"]:
            self.line("cvodes: instructions outside of the engine, share", figures["outside"]["share"], 0.1, at_least=False)
            self.line("instructions outside, a dataset and pass", figures["outside"]["instructions"])
        for way, found in figures["rivals"].items():
            if isinstance(found, dict):
                self.line(f"{way}: passes to the optimum within 1e-6", found["passes"] or np.nan)
            if isinstance(found, dict) and not found["passes"]:
                print(f"    not within {found['tried']} passes: objective / optimum - 1 is "
                      f"{found['objective'] / figures['rivals']['objective'] - 1:.2g}")

    def mixed(self):
        n = 1000 if not self.quick else 100
        print(f"Mixed effects of {n} subjects with 10 measurements, 3 random parameters, exact likelihood and errors:")
        folder = self.tmp / "mixed"
        folder.mkdir()
        figures = self.report["mixed"] = mixed_effects.measure_all(folder, n)
        self.line("two workers, s", figures["two"]["wall"], 20 if not self.quick else None, at_least=False)
        self.line("two workers / one", figures["workers"], 1.9)
        self.line("error of -2 log L", figures["two"]["error"], 0.1, at_least=False)
        self.line("nlme (closed form) / laplace, one core", figures["rival"])

    def whole(self):
        print("Whole fits, one core, beside an earlier build (OLD names it) and rivals with lm:")
        pythons = whole.rivals_for(self.rows)
        self.report["whole"] = {name: whole.measure_one(name, self.quick, pythons, self.line, self.repeats)
                                for name in self.rows}

    def whole_million(self):
        self.one_state("whole-million", 1000000)

    def one_state(self, name, n):
        print(f"{n} one-state datasets, all CPUs:")
        case = self.tmp / "m.h5"
        h.decay_problem(case, n, n_time=4, known_sigma=True, model_name="decay.text")
        figures = measure([h.STIFFIT, "run", case, "--trust", "-q"], self.tmp / "figures.json", env=h.environment())
        assert figures["code"] in (0, 1), figures
        self.report[name] = {k: figures[k] for k in ("wall", "cpu", "max_rss_mib", "code")} | {"datasets": n}
        self.line("largest process, MiB", figures["max_rss_mib"], 256, at_least=False)
        self.line("fits per second, whole process", n / figures["wall"])
        # 0.1.0 took 151 s on two CPUs for a million; a fifth of that is wanted.
        self.line("CPU time, us a fit", 1e6 * figures["cpu"] / n, 1e6 * 2 * 151 / 5 / 1e6, at_least=False)
        os.unlink(h.result_path(case))

    def merge(self):
        n = 1000000 if not self.quick else 64000
        print(f"Merging 64 shards with {n} fits:")
        folder = self.tmp / "shards"
        folder.mkdir()
        figures = merge.merge(folder, n)
        self.report["merge"] = {k: figures[k] for k in ("wall", "cpu", "max_rss_mib")} | {"fits": n}
        self.line("seconds", figures["wall"], 30, at_least=False)
        self.line("CPU seconds", figures["cpu"])
        self.line("largest process, MiB", figures["max_rss_mib"], 256, at_least=False)
        shutil.rmtree(folder)


PARTS = ("scipy", "numbalsoda", "lanes", "limit", "optimizers", "evaluation", "adjoint", "text",
         "workers", "experiments", "petab", "share", "overhead", "fairness", "million", "merge")
NAMED_ONLY = ("whole", "whole-million", "starts", "shared", "mixed")


def machine():
    """What the figures were measured on."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.processor()
    version = subprocess.run([str(h.STIFFIT), "--version"], capture_output=True, text=True, check=False).stdout
    return {"cpu": cpu, "cpus": len(os.sched_getaffinity(0)), "load_before": os.getloadavg()[0],
            "register_bits": lanes.register_bits(),
            "stiffit": version.strip(), "sundials": sundials_build.describe(h.STIFFIT),
            "when": time.strftime("%Y-%m-%dT%H:%M:%S%z")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--quick", action="store_true", help="smaller, for trying the bench itself")
    parser.add_argument("--repeats", type=int, default=whole.REPEATS, help="of the part whole")
    parser.add_argument("parts", nargs="*", metavar="WORD")
    args = parser.parse_args()
    rows = [row for word in args.parts if word.startswith("whole=") for row in word[6:].split(",")]
    args.parts = ["whole" if word.startswith("whole=") else word for word in args.parts]
    if set(rows) - {*whole.ROWS, *whole.PAIRS}:
        parser.error(f"the rows of whole are {', '.join([*whole.ROWS, *whole.PAIRS])}")
    unknown = set(args.parts) - {*PARTS, *NAMED_ONLY}
    if unknown:
        parser.error(f"no such part: {' '.join(sorted(unknown))}; there are {' '.join(PARTS + NAMED_ONLY)}")

    tmp = pathlib.Path(tempfile.mkdtemp(prefix="stiffit-bench-"))
    bench = Bench(tmp, args.quick)
    bench.rows, bench.repeats = rows or bench.rows, args.repeats
    missed = {}
    where = machine()
    build = where["sundials"]
    optimised = {True: "optimised", False: "NOT optimised", None: "unknown"}[build["optimised"]]
    print(f"{where['cpu']}, {where['cpus']} CPUs, load {where['load_before']:.2f}, {lanes.described()}")
    print(f"SUNDIALS {build['version']}, {build['path']}: {optimised} (a*x + b*y {build.get('linear_sum_ns')} ns an "
          f"element; the same loop at -O0 {build.get('same_loop_O0_ns')}, at -O2 {build.get('same_loop_O2_ns')})")
    try:
        for part in PARTS + NAMED_ONLY:
            if part in (args.parts or PARTS):
                n_before = len(bench.missed)
                getattr(bench, part.replace("-", "_"))()
                missed[part] = bench.missed[n_before:]
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    before = {}
    if args.parts and (h.BUILD / "bench.json").exists():  # the other parts stay as they were measured before
        before = json.loads((h.BUILD / "bench.json").read_text(encoding="utf-8"))
    with open(h.BUILD / "bench.json", "w", encoding="utf-8") as file:
        missed = {**before.get("missed", {}), **missed}
        if "whole" in bench.report:
            bench.report["whole"] = {**before.get("whole", {}), **bench.report["whole"]}
        json.dump({**before, "machine": where, **bench.report, "missed": missed}, file, indent=1)
    print(f"written: {h.BUILD / 'bench.json'}")
    if bench.missed:
        print("missed: " + "; ".join(bench.missed))
    return 1 if bench.missed and args.strict else 0


if __name__ == "__main__":
    sys.exit(main())
