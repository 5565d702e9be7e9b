"""Model text in the bench: evaluations against hand-written C, and what building a model costs.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import random
import subprocess

import helpers as h
from measure import measure


def network(n_state, n_reaction):
    """Mass action: random reactions of one or two species to one or two, as text."""
    draw = random.Random(1)
    terms = [[] for _ in range(n_state)]
    lines = [f"parameter k{i} = {10 ** draw.uniform(-2, 2):.4g} in [1e-6, 1e6] scale log10" for i in range(n_reaction)]
    for i in range(n_reaction):
        used = [draw.randrange(n_state) for _ in range(draw.choice([1, 2, 2, 2]))]
        made = [draw.randrange(n_state) for _ in range(draw.choice([1, 1, 2]))]
        lines.append(f"r{i} = k{i}*" + "*".join(f"y{j}" for j in used))
        for j in used:
            terms[j].append(f"- r{i}")
        for j in made:
            terms[j].append(f"+ r{i}")
    lines += [f"y{j}' = 0 {' '.join(terms[j])}\ny{j}(0) = {1 + j % 7}" for j in range(n_state)]
    return "\n".join(lines) + "\nobserve y0\n"


def saturating(n_state=20, n_parameter=40):
    """Every rate with a quotient, a power with a fitted exponent and an exponential."""
    draw = random.Random(2)
    lines = [f"parameter k{i} = {draw.uniform(0.1, 2):.3f}" for i in range(n_parameter)]
    for i in range(n_state):
        a, b, c = draw.sample(range(n_state), 3)
        k = [2 * i, 2 * i + 1, *draw.sample(range(n_parameter), 2)]
        lines.append(f"y{i}' = k{k[0]}*y{a}/(k{k[1]} + y{b}) - k{k[2]}*y{i}^k{k[3]}/(1 + y{c}^k{k[3]})*exp(-k{k[1]}*y{b})")
        lines.append(f"y{i}(0) = 1 + k{k[0]}")
    return "\n".join(lines) + "\nobserve y0\n"


def building(tmp):
    """Seconds and MiB of `model build` for a model of common size and a large one; the compiler counts with it. The best of
    three: the others were disturbed."""
    figures = {}
    for name, text in (("20 states, 40 parameters", saturating()), ("500 states, 800 reactions", network(500, 800))):
        path = tmp / "build.ode"
        path.write_text(text, encoding="ascii")
        command = [h.STIFFIT, "model", "build", "--quiet", "--no-cache", path, "-o", tmp / "build.so"]
        runs = [measure(command, tmp / "figures.json", env=h.environment()) for _ in range(3)]
        assert all(run["code"] == 0 for run in runs), runs
        figures[name] = min(runs, key=lambda run: run["wall"])
    return {name: {key: f[key] for key in ("wall", "cpu", "max_rss_mib")} for name, f in figures.items()}


def against_c(tmp):
    """For every model that is there as text and as C: evaluation time of the one over the other, with the figures."""
    names = [folder.name for folder in sorted((h.ROOT / "models").iterdir())
             if all((folder / f"{folder.name}{kind}").exists() for kind in (".c", ".ode"))]
    command = [str(h.BUILD / "bench" / "bench_model_text")]
    for name in names:
        folder, plugin = h.ROOT / "models" / name, tmp / f"{name}.so"
        h.stiffit("model", "build", "--no-cache", folder / f"{name}.ode", "-o", plugin)
        command += [name, str(h.model(name)), str(plugin), str(folder / "reference.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
