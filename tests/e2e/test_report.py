"""`stiffit report`: the numbers in the page against NumPy on the result file and the model's closed form, the page as a browser
reads it, and names that mean something to HTML.

SPDX-License-Identifier: BSD-3-Clause
"""
import base64
import hashlib
import html.parser
import json
import re
import shutil
import subprocess

import h5py
import numpy as np
from scipy import stats

import helpers as h

NASTY = ["</script><script>alert(1)</script>", "<!--<script>", "a\"b'c&amp;", "\u2028x\u202ey", "javascript:alert(1)",
         "d\u00e9\u4e2d"]
ID, STATUS, BADNESS, OBJECTIVE, SECONDS, EVALUATIONS, NOTES, PLACE, IN_TABLE, FIRST = range(10)


class Page(html.parser.HTMLParser):
    """Elements by kind, and the text of the scripts."""

    def __init__(self, path):
        super().__init__()
        self.scripts, self.tags, self.csp, self.text, self.styles = [], [], "", [], []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        data = {kind.get("id"): text for kind, text in self.scripts if kind.get("type")}
        assert sorted(data) == ["curves", "data", "rows"] and not any("<" in text for text in data.values())
        self.data, self.rows, self.gallery = (json.loads(data[name]) for name in ("data", "rows", "curves"))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.csp = dict(attrs)["content"]

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script" and self.scripts[-1][1] == "":
            self.scripts[-1] = (self.scripts[-1][0], data)
        elif self.tags and self.tags[-1][0] == "style" and not self.styles:
            self.styles.append(data)
        else:
            self.text.append(data)


def run(path, *words, code=0):
    h.stiffit("run", path, "--trust", "--quiet", *words, code=code)
    return h.result_path(path)


def report(path, *words):
    out = path.parent / "page.html"
    done = h.stiffit("report", path, "--trust", "--overwrite", "-o", out, *words)
    page = Page(out)
    page.said, page.path = done.stderr, out
    return page


def close(a, b):
    """Numbers of a page have six digits."""
    assert np.allclose(np.array(a, float), b, rtol=6e-6, atol=0, equal_nan=True), (a, b)


def check_spread(spread, x):
    close([spread[name] for name in ("min", "q25", "median", "q75", "max")], np.quantile(x, [0, 0.25, 0.5, 0.75, 1]))
    axis = np.log if spread["log"] else np.asarray
    low, high = x.min(), x.max()
    hundredths = np.quantile(x, [0.01, 0.99])
    if len(x) >= 100 and np.diff(axis([low, high])) > 3 * np.diff(axis(hundredths)) > 0:
        low, high = hundredths
    q25, q75 = axis(np.quantile(x, [0.25, 0.75]))
    inside = x[(axis(x) >= q25 - 3 * (q75 - q25)) & (axis(x) <= q75 + 3 * (q75 - q25))]  # Tukey's outer fences
    if axis(high) - axis(low) > 3 * np.ptp(axis(inside)) > 0:
        low, high = inside.min(), inside.max()
    assert spread["cut"] == ((low, high) != (x.min(), x.max()))
    edges = np.geomspace(low, high, 25) if spread["log"] else np.linspace(low, high, 25)
    x = x[(x >= low) & (x <= high)]
    edges[[0, -1]] = low, high
    assert np.abs(np.array(spread["bins"]) - np.histogram(x, edges)[0]).sum() <= 2 and sum(spread["bins"]) == len(x)


def test_small_page_against_the_closed_form(tmp):
    h.decay_problem(tmp / "p.h5", 150, known_sigma=True, noise=0.08)
    path = run(tmp / "p.h5")
    fits, page = h.read_fits(path), report(path)
    k, a = fits["parameters"].T
    with h5py.File(tmp / "p.h5") as f:
        t, y, s = (f["measurements"][name][()].reshape(150, 8) for name in ("time", "value", "sigma"))
    for spread, x in zip(page.data["parameters"], (k, a)):
        check_spread(spread, x)
    check_spread(page.data["quality"][0], fits["chi_square"] / 6)
    check_spread(page.data["quality"][1], fits["objective"])
    for spread, x in zip(page.data["costs"], ("seconds", "evaluations", "steps")):
        check_spread(spread, fits[x].astype(float))
    assert [row[ID] for row in page.rows] == list(fits["id"]) and page.data["all_rows"] and not page.data["pairs"]
    close([row[BADNESS] for row in page.rows], fits["chi_square"] / 6)
    close([row[FIRST:FIRST + 2] for row in page.rows], fits["parameters"])
    assert [row[EVALUATIONS] for row in page.rows] == list(fits["evaluations"])
    # The gallery: the worst, best and median ones, and curves.
    assert 30 < len(page.gallery) <= 60
    names, order = page.data["groups"], np.argsort(fits["chi_square"])
    groups = {name: [int(fit["id"][1:]) for fit in page.gallery if fit["groups"] >> bit & 1] for bit, name in enumerate(names)}
    assert set(groups["worst"]) == set(order[-30:]) and set(groups["best"]) == set(order[:10]) and not groups["failed"]
    median = np.argsort(np.abs(fits["chi_square"] - np.median(fits["chi_square"])))[:10]
    assert set(groups["median"]) == set(median) and len(groups["random"]) == 10
    for place, fit in enumerate(page.gallery):
        i = int(fit["id"][1:])
        assert page.rows[i][PLACE] == place and fit["observables"] == ["y"]
        experiment, = fit["experiments"]
        times = np.array(experiment["time"])
        assert len(times) > 100 and times[0] == 0 and times[-1] == 8
        assert np.allclose(experiment["curve"][0], a[i] * np.exp(-k[i] * times), rtol=2e-5)
        points = np.array(experiment["data"], float)
        residual = (y[i] - a[i] * np.exp(-k[i] * t[i])) / s[i]
        close(points[:, 1:5], np.column_stack([t[i], y[i], y[i] - s[i], y[i] + s[i]]))
        assert np.allclose(points[:, 5], residual, atol=1e-4)
    assert {row[PLACE] for row in page.rows} == {-1, *range(len(page.gallery))}
    # Residuals of all datasets: 1200 points, and quantiles.
    residuals = ((y - a[:, None] * np.exp(-k[:, None] * t)) / s).ravel()
    found, = page.data["residuals"]
    assert page.data["residual_datasets"] == 150 and found["n"] == 1200
    points = np.array(found["time"]["points"]).reshape(-1, 2)
    assert np.allclose(points[:, 1], np.sort(residuals), atol=1e-4)
    assert np.allclose(np.sort(points[:, 0]), np.sort(t.ravel()), rtol=1e-5)
    share = (np.arange(99) + 0.5) / 99
    quantiles = np.array(found["quantiles"]).reshape(-1, 2)
    assert np.allclose(quantiles[:, 0], stats.norm.ppf(share), atol=1e-5)
    assert np.allclose(quantiles[:, 1], np.quantile(residuals, share, method="hazen"), atol=1e-4)


@h.more
def test_many_fits_are_binned(tmp):
    n = 5000
    h.decay_problem(tmp / "p.h5", n, known_sigma=True, noise=0.05, n_time=4)
    with h5py.File(tmp / "p.h5", "a") as f:
        f["measurements/value"][4 * 17] = np.inf
    path = run(tmp / "p.h5", code=1)
    fits, page = h.read_fits(path), report(path, "--id", "d5")
    good = fits["status"] == "converged"
    k, a = fits["parameters"][good].T
    for spread, x in zip(page.data["parameters"], (k, a)):
        check_spread(spread, x)
    pair, = page.data["pairs"]
    edges = [np.geomspace(s["low"], s["high"], 25) if s["log"] else np.linspace(s["low"], s["high"], 25)
             for s in page.data["parameters"]]
    counts = np.histogram2d(k, a, edges)[0]
    # The page's ends are rounded to six digits: a few fits near edges may count in the next bin.
    assert np.abs(np.reshape(pair["counts"], (24, 24)) - counts).sum() <= 10 and abs(sum(pair["counts"]) - counts.sum()) <= 8
    table = [row for row in page.rows if row[IN_TABLE]]
    assert len(table) == 2000 and len(page.rows) > 2500 and not page.data["all_rows"]
    badness = np.where(good, fits["chi_square"] / 2, np.inf)
    assert {row[ID] for row in table} == set(fits["id"][np.argsort(badness)[-2000:]])
    failed, = [row for row in table if row[ID] == "d17"]
    assert failed[-1] and page.data["status"][failed[STATUS]] == "bad_data" and "bad_data" in "".join(page.text)
    assert any(fit["id"] == "d5" and fit["groups"] & 1 for fit in page.gallery)
    bad, = [fit for fit in page.gallery if fit["id"] == "d17"]
    assert bad["groups"] >> page.data["groups"].index("failed") & 1
    found, = page.data["residuals"]
    assert found["n"] == 4000 == sum(found["time"]["counts"]) == sum(found["prediction"]["counts"])
    full = report(path, "--full", "--gallery", "0")
    assert len(full.rows) == n and all(row[IN_TABLE] for row in full.rows) and not full.gallery
    same = report(path, "--id", "d5")
    assert same.source == page.source
    assert report(path, "--id", "d5", "--seed", "2").source != page.source
    few = report(path, "--where", "k > 0.5")
    assert few.data["fits"] == np.sum(k > 0.5) == len(few.rows)


def test_names_are_text(tmp):
    rows = [(i, t, 0, 2 * np.exp(-0.3 * t), 0.1) for i in range(len(NASTY) + 1) for t in (1, 2, 3)]
    h.write_problem(tmp / "p.h5", h.model("decay"), NASTY + ["last"], rows)
    with h5py.File(tmp / "p.h5", "a") as f:
        del f["datasets/id"]
        names = [name.encode() for name in NASTY] + [b"\xff\xfe<b>"]
        f["datasets/id"] = np.array(names, dtype=f"S{max(map(len, names))}")
        f["measurements/value"][0] = np.inf  # so that its id is among the examples
    path = run(tmp / "p.h5", code=1)
    page = report(path)
    assert [row[ID] for row in page.rows][:len(NASTY)] == NASTY and page.rows[-1][ID] == "\xff\xfe<b>"  # read as Latin-1
    assert {fit["id"] for fit in page.gallery} == {row[ID] for row in page.rows}
    assert [bool(kind.get("type")) for kind, _ in page.scripts] == [True] * 3 + [False] * 2
    shown = " ".join(page.text)
    assert all(name in shown for name in NASTY) and not any(tag == "b" and attrs for tag, attrs in page.tags)
    assert "-->" not in page.source.split("<body>")[1].split("<script")[0]
    # Only the page's own scripts and style run, and nothing is loaded.
    for text in [text for kind, text in page.scripts if not kind.get("type") and text] + page.styles:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page.csp, text[:60]
    assert "default-src 'none'" in page.csp and "unsafe" not in page.csp
    for tag, attributes in page.tags:
        assert not {"src", "style"} & set(attributes) and not any(name.startswith("on") for name in attributes), tag
        assert attributes.get("href", "#").startswith("#")
    assert browser_says(page.path) == []


def test_kept_tables_and_no_model(tmp):
    h.decay_problem(tmp / "p.h5", 4, known_sigma=True)
    path = run(tmp / "p.h5", "--profile", "k", "--keep-profile", "--bootstrap", "25", "--keep-bootstrap")
    page = report(path)
    with h5py.File(path) as f:
        profile, replicate = ({name: column[()] for name, column in f[group].items()} for group in ("profiles", "bootstrap"))
    for i, fit in enumerate(page.gallery):
        rows = profile["dataset"] == i
        close(fit["profiles"], np.column_stack([profile[name][rows] for name in ("parameter", "value", "objective")]))
        rows = replicate["dataset"] == i
        close(fit["bootstrap"], replicate["parameters"][rows])
        assert len(fit["bootstrap"]) >= 20
    page = report(path, "--where", "k < 0")
    assert page.data["fits"] == 0 and page.rows == page.gallery == [] and browser_says(page.path) == []
    (tmp / "p.h5").unlink()
    page = report(path)
    assert not page.data["model"] and not page.gallery and len(page.rows) == 4
    assert "without the problem" in page.said and "no curves and no residuals" in "".join(page.text)
    assert browser_says(page.path) == []
    h.stiffit("report", path, "--problem", tmp / "q.h5", "-o", tmp / "x.html", code=4)
    assert "--output is needed" in h.stiffit("report", path, code=2).stderr
    assert "d99" in h.stiffit("report", path, "-o", tmp / "x.html", "--id", "d99", code=2).stderr
    assert not (tmp / "x.html").exists()


@h.more
def test_a_hundred_thousand_fits(tmp):
    """A result of 1000 fits, a hundred times over: without its problem, which does not grow the page but by the gallery."""
    h.decay_problem(tmp / "p.h5", 1000, known_sigma=True)
    path = run(tmp / "p.h5")
    with h5py.File(path, "a") as f:
        for name in list(f["fits"]):
            column = f["fits"][name]
            values = column[()]
            attributes = dict(column.attrs)
            kind = column.dtype
            del f["fits"][name]
            if name == "id":
                values, kind = np.array([f"well {i}" for i in range(100000)], dtype="S12"), "S12"
            else:
                values = np.concatenate([values] * 100)
            new = f["fits"].create_dataset(name, data=values, dtype=kind, chunks=True, compression="gzip")
            new.attrs.update(attributes)
    (tmp / "p.h5").unlink()
    page = report(path)
    assert page.data["fits"] == 100000 and len(page.source) < 5 << 20 and len(page.rows) > 2500
    assert sum(page.data["costs"][1]["bins"]) > 90000
    full = report(path, "--full")
    assert len(full.rows) == 100000


def browser():
    return next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), None)


def browser_says(path, wanted=None):
    """Errors on the browser's console; wanted: a list that gets the page as it is after its scripts have run."""
    if not browser():
        return []
    done = subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={path.parent}/browser",
                           "--virtual-time-budget=6000", "--enable-logging=stderr", "--window-size=1280,6000", "--dump-dom",
                           f"file://{path}"], capture_output=True, text=True, errors="replace", timeout=240, check=False)
    assert "<html" in done.stdout, done.stderr[-2000:]
    if wanted is not None:
        wanted.append(done.stdout)
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_in_a_browser(tmp):
    """A copy of the page clicks on itself; without the policy, which would not let it."""
    if not browser():
        h.skip("no chromium is installed (scripts/install-deps all)")
    h.decay_problem(tmp / "p.h5", 230, known_sigma=True, noise=0.08)
    path = run(tmp / "p.h5")
    fits, page = h.read_fits(path), report(path)
    if not page.data or "Chart.js" not in page.source:
        h.skip("built without the library of charts")
    clicks = """
    const said = {}, table = () => [...document.querySelectorAll("#table-box tbody tr")].map(tr => tr.cells[0].textContent);
    const all = selector => [...document.querySelectorAll(selector)];
    said.canvases = all("canvas").length;
    said.first = table();
    said.cards = all("#gallery-box .card").length;
    all("#table-box th button")[6].click();
    said.by_k = table();
    all("#table-box th button")[6].click();
    said.by_k_up = table();
    const filter = document.querySelector("#table-box input");
    filter.value = "D22";
    filter.dispatchEvent(new Event("input"));
    said.filtered = table();
    const absent = rows.find(row => row[PLACE] < 0);
    choose(absent);
    said.absent = document.querySelector("#dataset-box code").textContent;
    said.head = document.querySelector("#dataset-head").textContent;
    all("#gallery-box .pick")[2].click();
    said.third = document.querySelector("#dataset-head").textContent;
    said.panels = all("#dataset-box canvas").length;
    add(document.body, "pre", JSON.stringify(said), {id: "said"});
    """
    source = re.sub(r"<meta http-equiv=Content-Security-Policy[^>]*>", "", page.source)
    assert source.count("showTable();\n})();") == 1
    (tmp / "click.html").write_text(source.replace("showTable();\n})();", "showTable();" + clicks + "})();"), encoding="utf-8")
    shown = []
    assert browser_says(page.path, shown) == [] and browser_says(tmp / "click.html", shown) == []
    assert 'class="on"' in shown[0] and "aria-sort" in shown[0]
    said = json.loads(html.unescape(re.search(r'<pre id="said">(.*?)</pre>', shown[1], re.S)[1]))
    by_badness = [f"d{i}" for i in np.argsort(-fits["chi_square"])]
    by_k = [f"d{i}" for i in np.argsort(-fits["parameters"][:, 0])]
    assert said["first"] == by_badness[:100] and said["by_k"] == by_k[:100] and said["by_k_up"] == by_k[::-1][:100]
    assert sorted(said["filtered"]) == sorted(i for i in fits["id"] if "d22" in i)
    assert said["absent"].startswith("stiffit plot ") and said["absent"].split("--id ")[1] == said["head"].split()[1]
    assert said["third"] == "Dataset " + by_badness[2] and said["panels"] == 3 and said["cards"] == 12
    assert said["canvases"] >= 2 + 2 + 3 + 1 + 3 + 12 + 2


def clicked(page, tmp, name, clicks):
    """What a copy of the page says that runs `clicks`, which fill `said`, without the policy, which would not let it."""
    source = re.sub(r"<meta http-equiv=Content-Security-Policy[^>]*>", "", page.source)
    assert source.count("showTable();\n})();") == 1
    clicks = ("const said = {}, all = selector => [...document.querySelectorAll(selector)], words = selector => "
              f"all(selector).map(one => one.textContent);{clicks};"
              "add(document.body, 'pre', JSON.stringify(said), {id: 'said'});")
    (tmp / name).write_text(source.replace("showTable();\n})();", "showTable();" + clicks + "})();"), encoding="utf-8")
    shown = []
    assert browser_says(tmp / name, shown) == []
    return json.loads(html.unescape(re.search(r'<pre id="said">(.*?)</pre>', shown[0], re.S)[1]))


def test_one_outlier_does_not_make_one_bar(tmp):
    for n in (12, 60):
        h.write_problem(tmp / "p.h5", h.model("decay"), [f"d{i}" for i in range(n)], [
            (i, t, 0, (5e3 if i == 3 else 2.5 + np.sin(i) / 2) * np.exp(-0.3 * t), None) for i in range(n) for t in (1, 2, 3)])
        path = run(tmp / "p.h5", "--overwrite")
        fits, page = h.read_fits(path), report(path)
        a = fits["names"].index("A")
        spread = page.data["parameters"][a]
        check_spread(spread, fits["parameters"][:, a])
        assert spread["cut"] and spread["high"] < 4, spread
        assert spread["max"] > 1e3 and np.count_nonzero(spread["bins"]) > n / 4


PK = """model pk "one compartment, bolus doses"
parameter k = 0.2 in [0.001, 10] scale log unit "1/h"
parameter V = 10 in [0.1, 1000] scale log
covariate wt
drug(0) = 0
drug' = -k*drug
observe conc = drug/(V*wt/70)
"""


def pk_problem(tmp, ids):
    (tmp / "pk.ode").write_text(PK)
    (tmp / "m.csv").write_text("dataset,experiment,time,value\n" + "".join(
        f"{name},{e},{t},{(1 + 0.1 * np.sin(7 * t + i)) * dose / 12 * np.exp(-0.25 * t)}\n" for i, name in enumerate(ids)
        for e, dose in (("low", 100), ("high", 300)) for t in (1, 2, 4, 8)))
    (tmp / "d.csv").write_text("dataset,experiment,time,amount\n" + "".join(
        f"{name},low,0,100\n{name},high,0,300\n" for name in ids))
    (tmp / "s.csv").write_text("dataset,wt\n" + "".join(f"{name},{70 + i}\n" for i, name in enumerate(ids)))
    h.stiffit("import", tmp / "m.csv", "--model", tmp / "pk.ode", "--doses", tmp / "d.csv", "--datasets", tmp / "s.csv", "-o",
              tmp / "pk.h5", "--overwrite")
    return tmp / "pk.h5"


def test_a_report_of_one_fit_is_about_that_fit(tmp):
    path = run(pk_problem(tmp, ["one"]), "--starts", "6", "--keep-starts")
    fits, page = h.read_fits(path), report(path)
    heads = re.findall(r"<th scope=col>(.*?)</th>", page.source)
    assert "value" in heads and not {"min", "25 %", "median", "75 %", "max"} & set(heads)
    fit, = page.gallery
    assert [(e["name"], e["covariates"], e["n_dose"], e["doses"][0][:2]) for e in fit["experiments"]] == [
        ("low", [70], 1, [0, 100]), ("high", [70], 1, [0, 300])]
    k, volume = fits["parameters"][0]
    for experiment, dose in zip(fit["experiments"], (100, 300)):
        points = np.array(experiment["data"], float)
        assert np.allclose(points[:, 7], dose / volume * np.exp(-k * points[:, 1]), rtol=1e-4)  # the run's rtol
    with h5py.File(path) as f:
        close([start[0] for start in fit["starts"]], f["starts/objective"][()])
    assert len(fit["starts"]) == 6 and "observe conc = drug/(V*wt/70)" in html.unescape(page.source.split("<h2>Model</h2>")[1])
    if not browser() or "Chart.js" not in page.source:
        h.skip("no chromium is installed (scripts/install-deps all)")
    said = clicked(page, tmp, "click.html", """said.heads = words("h2"); said.links = words("nav a");
        said.tables = words("#dataset-box caption"); said.charts = all("#dataset-box canvas").map(c => c.ariaLabel);
        said.empty = all(".charts").filter(box => box.id === "parameter-charts" && box.children.length).length""")
    assert said["heads"] == ["Health", "Dataset one", "Parameters", "Residuals", "Costs", "Fits", "Model", "Provenance"]
    assert set(said["links"]) <= set(said["heads"]) and "quartiles" not in page.source.split("<script")[0]
    assert said["tables"] == ["Experiments", "Doses"] and said["empty"] == 0
    assert [chart.split(" of ")[0] for chart in said["charts"]] == ["Data and curve", "Residuals",
                                                                  "Measurements over predictions", "Waterfall"]


def test_notes_lead_to_their_rows(tmp):
    h.decay_problem(tmp / "p.h5", 40, known_sigma=True, noise=0.08)
    with h5py.File(tmp / "p.h5", "a") as f:
        f["measurements/value"][8 * 11:8 * 12] *= np.array([1, 4] * 4)  # two that no curve describes
        f["measurements/value"][8 * 23:8 * 24] *= np.array([4, 1] * 4)
    path = run(tmp / "p.h5")
    page = report(path)
    bit = page.data["notes"].index("poor_fit")
    noted = [row[ID] for row in page.rows if row[NOTES] >> bit & 1]
    assert {"d11", "d23"} <= set(noted) and len(noted) < 40
    static = re.findall(r"<tr><td class=id>(.*?)</td>.*?poor_fit.*?</tr>", page.source)
    assert set(static) == set(noted)
    assert ["min", "25 %", "median", "75 %", "max"] == re.findall(r"<th scope=col>(.*?)</th>", page.source.split(
        "Parameters of the converged fits")[1])[2:7]
    if not browser() or "Chart.js" not in page.source:
        h.skip("no chromium is installed (scripts/install-deps all)")
    said = clicked(page, tmp, "click.html", """
        const line = all("#notes tbody tr").find(tr => tr.textContent.startsWith("poor_fit"));
        line.querySelector("button").click();
        said.rows = all("#table-box tbody tr").map(tr => tr.cells[0].textContent);
        said.heads = words("#table-box th").map(text => text.trim());
        const column = said.heads.indexOf("notes");
        said.notes = all("#table-box tbody tr").map(tr => tr.cells[column].textContent);
        said.chosen = all("#table-box select")[0].selectedOptions[0].textContent""")
    assert sorted(said["rows"]) == sorted(noted) and all("poor_fit" in text for text in said["notes"])
    assert said["chosen"] == "poor_fit" and said["heads"][-2:] == ["notes", "message"]


def test_fits_a_narrow_screen(tmp):
    """In a frame of 400 px nothing but tables, which scroll, is wider than the page."""
    if not browser():
        h.skip("no chromium is installed (scripts/install-deps all)")
    page = report(run(pk_problem(tmp, [f"subject-{i}" for i in range(5)])))
    source = re.sub(r"<meta http-equiv=Content-Security-Policy[^>]*>", "", page.source)
    look = """const frame = document.querySelector("iframe");
    frame.onload = () => setTimeout(() => {
        const inside = frame.contentDocument, said = {width: inside.documentElement.scrollWidth};
        const pre = document.body.appendChild(document.createElement("pre"));
        said.wide = [...inside.querySelectorAll("main *")].filter(one => !one.closest(".scroll")
            && one.getBoundingClientRect().right > 401).map(one => one.tagName + "." + one.className);
        pre.id = "said";
        pre.textContent = JSON.stringify(said);
    }, 1500);"""
    frame = f'<iframe style="width:400px;height:3000px;border:0" srcdoc="{html.escape(source)}"></iframe>'
    (tmp / "frame.html").write_text(f"<!doctype html><meta charset=utf-8>{frame}<script>{look}</script>", encoding="utf-8")
    shown = []
    browser_says(tmp / "frame.html", shown)
    said = json.loads(html.unescape(re.search(r'<pre id="said">(.*?)</pre>', shown[0], re.S)[1]))
    assert said["wide"] == [] and said["width"] <= 400, said


def test_without_javascript(tmp):
    """In a frame whose scripts do not run, only what has words is to be seen, and nothing is cut off."""
    if not browser():
        h.skip("no chromium is installed (scripts/install-deps all)")
    h.decay_problem(tmp / "p.h5", 30, known_sigma=True, noise=0.08)
    path = run(tmp / "p.h5")
    fits, page = h.read_fits(path), report(path)
    look = """const frame = document.querySelector("iframe"), said = {};
    const seen = selector => [...frame.contentDocument.querySelectorAll(selector)]
        .filter(element => element.getClientRects().length);
    frame.onload = () => {
        said.heads = seen("h2").map(head => head.textContent);
        said.links = seen("nav a").map(link => link.textContent);
        said.words = seen("noscript, .note").map(note => note.textContent).join(" ");
        said.ids = seen("#fits tbody tr").map(tr => tr.cells[0].textContent);
        said.cut = seen(".scroll").filter(box => box.scrollWidth > box.clientWidth).length;
        const pre = document.body.appendChild(document.createElement("pre"));
        pre.id = "said";
        pre.textContent = JSON.stringify(said);
    };"""
    frame = ('<iframe sandbox=allow-same-origin style="width:1000px;height:3000px" '
             f'srcdoc="{html.escape(page.source)}"></iframe>')
    (tmp / "frame.html").write_text(f"<!doctype html><meta charset=utf-8>{frame}<script>{look}</script>", encoding="utf-8")
    shown = []
    browser_says(tmp / "frame.html", shown)
    said = json.loads(html.unescape(re.search(r'<pre id="said">(.*?)</pre>', shown[0], re.S)[1]))
    assert said["heads"] == said["links"] == ["Health", "Parameters", "Costs", "Fits", "Provenance"]
    assert said["ids"] == list(fits["id"]) and said["cut"] == 0 and "Without JavaScript" in said["words"]


if __name__ == "__main__":
    h.main()
