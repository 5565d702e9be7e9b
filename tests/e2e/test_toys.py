"""Where a change goes: a toy of each kind of ARCHITECTURE.md's table is added to a copy of the sources where the table says, at
most two source files each. All are built at once, and each does in the program what a real one of its kind would do.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import json
import math
import os
import re
import shutil
import subprocess

import h5py
import numpy as np

import helpers as h

TEXT = """model toy
parameter k = 0.5 in [1e-3, 100] scale log
parameter A = 2 in [1e-3, 100] scale log
x(0) = A
x' = -k*x
observe x
"""
TIMES = [0.5, 1.0, 2.0, 4.0]
NOISE = [0.03, -0.05, 0.04, -0.02]

FORMAT = r"""/* A table of numbers alone: dataset, time, value. SPDX-License-Identifier: BSD-3-Clause */
#include "import/format.h"

#include <stdio.h>
#include <stdlib.h>

static enum status read_table(struct import_rows *rows, struct import_subjects *subjects,
                              struct import_happenings *happenings,
                              const struct import_options *options, const struct model *model,
                              struct error *error)
{
    FILE *file = fopen(options->measurements, "r");
    char id[40];
    double time, value;
    (void)happenings;
    subjects->n_parameter = model->abi.n_parameter;
    for (size_t i = 0; file && fscanf(file, "%39s %lf %lf", id, &time, &value) == 3; i++) {
        struct measurements row;
        if (import_rows_begin(rows, &row, error))
            return error->status;
        *row.time = time;
        *row.value = value;
        import_rows_end(rows, import_owner_add(&rows->owners, id, ""));
    }
    subjects->t0 = calloc(rows->owners.experiment.n + 1, sizeof *subjects->t0);
    return file && !fclose(file) && subjects->t0 ? STATUS_OK : error_set(error, STATUS_BAD_PROBLEM, "no toys");
}

static const char *const none[] = {NULL};
const struct import_format import_format_toys = {.name = "toys", .style = "the toys' style",
                                                 .id = "ID", .column = none, .option = none,
                                                 .read = read_table};
"""

COMMAND = r"""/* A command. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

struct toy_options { int64_t n; };
static const struct option table[] = {{.name = "number", .kind = OPTION_INTEGER, .max = 100,
                                       .offset = offsetof(struct toy_options, n), .help = "a number"}};

static int run(const struct command *self, int argc, char **argv)
{
    struct toy_options options = {.n = 1};
    struct option_words words;
    int code = command_parse(self, &options, &words, 0, argc, argv);
    if (code >= 0)
        return code;
    printf("%lld toys\n", (long long)options.n);
    return command_close_output(0);
}

const struct command command_toy = {.name = "toy", .synopsis = "", .summary = "count toys",
                                    .example = "stiffit toy", .description = "Counts toys.",
                                    .table = COMMAND_TABLE(table), .run = run};
"""

SOLVER = r"""/* A linear solver: the inverse, by Gauss and Jordan. SPDX-License-Identifier: BSD-3-Clause */
#include "ode/dense.h"
#include "ode/linear_solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool toy_new(struct linear *linear)
{
    size_t n = linear->plan->n;
    linear->own = malloc(2 * n * n * sizeof(double));
    return linear->own != NULL;
}

static void toy_fini(struct linear *linear) { free(linear->own); }

static enum linear_result toy_factor(struct linear *linear, double gamma)
{
    size_t n = linear->plan->n;
    double *a = linear->own, *b = a + n * n;
    for (size_t i = 0; i < n * n; i++) {
        b[i] = i % (n + 1) == 0;
        a[i] = b[i] - gamma * linear->jacobian[i];
    }
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k; i < n; i++)
            best = fabs(a[i + k * n]) > fabs(a[best + k * n]) ? i : best;
        double pivot = a[best + k * n];
        if (!(fabs(pivot) > 0))
            return LINEAR_SINGULAR;
        for (size_t j = 0; j < 2 * n; j++) {
            double swap = a[k + j * n];
            a[k + j * n] = a[best + j * n] / pivot;
            if (best != k)
                a[best + j * n] = swap;
        }
        for (size_t i = 0; i < n; i++) {
            double factor = a[i + k * n];
            for (size_t j = 0; j < 2 * n && i != k; j++)
                a[i + j * n] -= factor * a[k + j * n];
        }
    }
    return LINEAR_OK;
}

static enum linear_result toy_solve(struct linear *linear, double *b, size_t n_column)
{
    size_t n = linear->plan->n;
    const double *inverse = (const double *)linear->own + n * n;
    double *x = malloc(n * sizeof *x);
    for (size_t c = 0; x && c < n_column; c++) {
        dense_multiply(inverse, n, b + c * n, x, 1);
        memcpy(b + c * n, x, n * sizeof *x);
    }
    free(x);
    return x ? LINEAR_OK : LINEAR_NO_MEMORY;
}

static void toy_multiply(const struct linear *linear, const double *x, double *y, size_t n_column)
{
    dense_multiply(linear->jacobian, linear->plan->n, x, y, n_column);
}

const struct linear_solver toy_solver = {.new = toy_new, .fini = toy_fini, .factor = toy_factor,
                                         .solve = toy_solve, .multiply = toy_multiply};
"""


LOSS = """
static struct loss_terms at_logcosh(double k, double r)
{
    (void)k;
    return (struct loss_terms){log(cosh(r)), r != 0 ? tanh(r) / r : 1};
}

static double second_logcosh(double k, double r)
{
    (void)k;
    return 1 - tanh(r) * tanh(r);
}
"""


FORMULA = r"""/* A language in which OF multiplies. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "model/text/postfix.h"

static const struct reserved words[] = {{"dozen", WORD_NUMBER, 0, 12}, RESERVED_OPERATION("root", SQRT)};
static const struct dialect shop = {.name = "the shop's", .words = words, .n_word = 2, .or = BIND_OR, .not = BIND_NOT};
static const struct option none[1];

static int run(const struct command *self, int argc, char **argv)
{
    struct arena arena = {0};
    struct postfix formula;
    struct postfix_reader *reader = postfix_reader_new(&shop);
    int code = self && argc == 1 && reader && !postfix_read(reader, &arena, argv[0], &formula) ? 0 : 3;
    if (code == 0)
        printf("%g\n", postfix_value(&formula, NULL, NULL));
    postfix_reader_free(reader);
    arena_fini(&arena);
    return command_close_output(code);
}

const struct command command_reckon = {.name = "reckon", .synopsis = "FORMULA", .summary = "compute",
                                       .example = "stiffit reckon dozen", .description = "Computes.",
                                       .table = {none, 0}, .run = run};
"""


class Toy:
    """kind: the words of its row in the table. lines: (file, text that is there, text that follows it). files: {new file:
    text}. models: {new file: text} that are no source files. is_of_all: its row names no file, as it may be any of its kind."""

    def __init__(self, kind, check, lines=(), files=None, models=None, is_of_all=False):
        self.kind, self.check, self.lines, self.files, self.models = kind, check, lines, files or {}, models or {}
        self.is_of_all = is_of_all

    def paths(self):
        return sorted({line[0] for line in self.lines} | set(self.files))

    def assert_places(self):
        for path, before, _ in self.lines:
            n = source(path).count(before)
            assert n == 1, f"a toy {self.kind} goes behind this text, which {path} has {n} times:\n{before}"

    def add(self, tree):
        for path, text in {**self.files, **self.models}.items():
            assert not (tree / path).exists(), path
            (tree / path).write_text(text)
        for path, before, text in self.lines:
            there = (tree / path).read_text()
            (tree / path).write_text(there.replace(before, before + text))


class Bench:
    """The program with all toys, and a problem."""

    def __init__(self, tree, tmp):
        self.program, self.tmp, self.n = tree / "build" / "stiffit", tmp, 0
        (tmp / "toy.ode").write_text(TEXT)
        rows = [f"{name},{t},{2 * math.exp(-0.7 * t) + e},0.05" for name in "ab" for t, e in zip(TIMES, NOISE)]
        (tmp / "m.csv").write_text("\n".join(["dataset,time,value,sigma", *rows]) + "\n")
        self.problem = self.imported()

    def __call__(self, *words, code=0):
        done = subprocess.run([self.program, *map(str, words)], env=h.environment(), cwd=self.tmp, capture_output=True,
                              text=True, timeout=600, check=False)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done

    def imported(self, *words, table="m.csv", model="toy.ode", code=0):
        self.n += 1
        path = self.tmp / f"p{self.n}.h5"
        done = self("import", table, "-m", model, "-o", path, *words, code=code)
        return path if code == 0 else done

    def fits(self, *words, problem=None, code=0):
        """/fits of a run, and the path of its result."""
        self.n += 1
        path = self.tmp / f"r{self.n}.h5"
        self("run", problem or self.problem, "-q", "-o", path, *words, code=code)
        with h5py.File(path) as file:
            return {name: data[()] for name, data in file["fits"].items() if isinstance(data, h5py.Dataset)}, path


def measurement_column(bench):
    (bench.tmp / "shifted.csv").write_text("time,value,shift\n" + "".join(
        f"{t},{2 * math.exp(-0.7 * t) + 3},3\n" for t in TIMES))
    path = bench.imported(table="shifted.csv")
    with h5py.File(path) as file:
        assert file["measurements/shift"][()].tolist() == [3] * 4
    fits, _ = bench.fits(problem=path)
    assert np.allclose(fits["parameters"], [0.7, 2], rtol=1e-5), fits["parameters"]


def parameter_column(bench):
    (bench.tmp / "par.csv").write_text("name,toys\nk,1\nA,2\n")
    with h5py.File(bench.imported("-p", "par.csv")) as file:
        assert file["parameters/toys"][()].tolist() == [1, 2]
    (bench.tmp / "bad.csv").write_text("name,toys\nk,1\nA,-2\n")
    assert "(A): toys must not be negative" in bench.imported("-p", "bad.csv", code=3).stderr


def dose_column(bench):
    (bench.tmp / "doses.csv").write_text("dataset,time,amount,half\na,0.25,4,1\nb,0.25,2,\n")
    path = bench.imported("--doses", "doses.csv")
    with h5py.File(path) as file:
        assert file["doses/half"][()].tolist() == [1, 0]
    fits, _ = bench.fits("--evaluate", problem=path)
    assert fits["objective"][0] == fits["objective"][1] > 10, fits["objective"]  # half of 4 is 2


def statistic(bench):
    fits, path = bench.fits()
    assert fits["toys"].tolist() == [42, 42]
    assert "number of toys 42" in re.sub(r"[ :]+", " ", bench("show", path, "--id", "a").stdout)
    assert "toys" in bench("export", path).stdout.splitlines()[0]


def number_of_show(bench):
    _, path = bench.fits()
    assert json.loads(bench("show", path, "--json").stdout)["toys_shown"] == 77
    assert "77 toys shown" in bench("show", path).stdout


def fact(bench):
    _, path = bench.fits()
    assert json.loads(bench("show", path, "--json").stdout)["toy_fits"] == 4
    assert "4 toy fits" in bench("show", path).stdout


def option(bench):
    fits, _ = bench.fits("--draft")
    assert (fits["evaluations"] < bench.fits()[0]["evaluations"]).all()
    assert "--draft" in bench("run", "--help").stdout


def command(bench):
    assert bench("toy", "--number", 3).stdout == "3 toys\n"
    assert "count toys" in bench("help").stdout and "--number" in bench("help", "toy").stdout
    assert "--number" in bench("help", "--completion", "bash").stdout


def error_distribution(bench):
    fits, _ = bench.fits("--error", "logcosh")
    k, a = fits["parameters"].T
    residual = a[:, None] * np.exp(-np.outer(k, TIMES)) - 2 * np.exp(-0.7 * np.array(TIMES)) - NOISE
    # The integrator's errors are 1e-7 of the predictions; the objective is near its minimum.
    assert np.allclose(fits["objective"], np.log(np.cosh(residual / 0.05)).sum(axis=1), rtol=1e-4), fits["objective"]


def integrator(bench):
    fits, path = bench.fits("--engine", "toys")
    other, _ = bench.fits("--engine", "cvodes")
    assert (fits["parameters"] == other["parameters"]).all()
    with h5py.File(path) as file:
        assert file["provenance"].attrs["engine"] == b"toys"


def linear_solver(bench):
    fits, _ = bench.fits("--engine", "cvodes", "--linear-solver", "jordan")
    other, _ = bench.fits("--engine", "cvodes", "--linear-solver", "dense")
    assert np.allclose(fits["parameters"], other["parameters"], rtol=1e-6)


def stopping_test(bench):
    fits, path = bench.fits("--ftol", "0.01")
    with h5py.File(path) as file:
        names = h5py.check_enum_dtype(file["fits/stopping_test"].dtype)
    assert (fits["stopping_test"] == names["toys"]).all(), (fits["stopping_test"], names)
    assert {row["stopping_test"] for row in csv.DictReader(bench("export", path).stdout.splitlines())} == {"toys"}


def function(bench):
    (bench.tmp / "power.ode").write_text(TEXT.replace("k*x", "k*x*exp2(A - A)").replace("observe x", "observe y = x*exp2(k)"))
    assert "exp2" in bench("model", "show", "power.ode").stdout
    bench("model", "check", "power.ode")
    fits, _ = bench.fits("--evaluate", problem=bench.imported(model="power.ode"))
    wanted = [2 ** 0.5 * 2 * math.exp(-0.5 * t) - 2 * math.exp(-0.7 * t) - e for t, e in zip(TIMES, NOISE)]
    assert np.allclose(fits["objective"], 200 * np.dot(wanted, wanted), rtol=1e-5)


def table_format(bench):
    (bench.tmp / "toys.txt").write_text("a 1 2\na 2 1\nb 1 3\n")
    with h5py.File(bench.imported("--toys", table="toys.txt")) as file:
        assert file["measurements/value"][()].tolist() == [2, 1, 3] and len(file["datasets/id"]) == 2
    assert "--doses" in bench.imported("--toys", "--doses", "d.csv", table="toys.txt", code=2).stderr
    assert "--toys" in bench("import", "--help").stdout


def template(bench):
    bench("model", "new", "mine", "--from", "toys")
    assert (bench.tmp / "mine.ode").read_text().startswith("model")


def budget(bench):
    fits, path = bench.fits("--max-toys", 3, code=1)
    assert (fits["evaluations"] == 3).all() and "3 toys are used up" in bench("export", path).stdout
    assert "--max-toys" in bench("run", "--help").stdout


def start(bench):
    trace = bench.tmp / "trace.csv"
    bench("run", bench.problem, "--starts", 3, "--only", "a", "--trace", trace)
    rows = list(csv.DictReader(line for line in trace.read_text().splitlines() if not line.startswith("#")))
    first = next(row for row in rows if row["task"] == "start 1")
    assert math.isclose(float(first["k"]), 0.1 ** 0.5, rel_tol=1e-6), first  # the middle of [1e-3, 100], on its scale


def language(bench):
    assert bench("reckon", "root(dozen*3)").stdout == "6\n"
    bench("reckon", "sqrt(4)", code=3)


def frame(bench):
    for number in (1, 2):  # of the process that is ended, and of the one that resumes
        words = ("run", bench.problem, "-o", bench.tmp / "frames.h5", "--share", "k", "--starts", "99999")
        with subprocess.Popen([bench.program, *words],
                              env=h.environment(), stderr=subprocess.PIPE, text=True) as process:
            said = next(line for line in process.stderr if line.startswith("stiffit: toy "))
            process.terminate()
            process.stderr.read()
        assert f"toy {number}" in said and process.returncode == 75, (said, process.returncode)


def source(path):
    return (h.ROOT / path).read_text()


def integrator_text():
    """CVODES by another name: an integrator's file exports its table alone."""
    text = re.sub(r"\b(workspace_new|workspace_free|cvProcessError)\b", r"toys_\1", source("src/ode/cvodes.c"))
    text = re.sub(r"^(?=.*\btoys_workspace_(new|free)\(.*[^;]$)(?=struct|void)", "static ", text, flags=re.M)
    text = text.replace("engine_cvodes", "engine_toys").replace('.name = "cvodes"', '.name = "toys"')
    return text.replace("#include <float.h>\n", "#include <float.h>\nstatic void toys_workspace_free(struct workspace *it);\n")


TOYS = [
    Toy("column of measurements", measurement_column, [
        ("src/base/measurements.h", 'and this; NaN: anywhere on its side") \\\n',
         '    X(shift, DOUBLE, 0, 0, "how much larger its value is than it should be") \\\n'),
        ("src/fit/objective/dataset.c", "    problem->measured = all;\n",
         "    for (size_t i = 0; all.shift && i < n_row; i++)\n"
         "        all.value[i] -= isnan(all.shift[i]) ? 0 : all.shift[i];\n"),
        ("src/fit/objective/dataset.c", '#include "ode/task.h"\n', "\n#include <math.h>\n")]),
    Toy("column of parameters", parameter_column, [
        ("src/base/parameters.h", 'X(unit, TEXT, false, 1, "its unit, for the reader") \\\n',
         '    X(toys, NUMBER, false, 1, "its toys") \\\n'),
        ("src/io/problem/match.c", "        bool is_free = fixed && fixed[i] == 0;\n",
         "        const double *toys = problem->table[PARAMETER_toys].vector;\n        if (toys && toys[i] < 0)\n"
         '            faults_add(faults, "/parameters/toys row %zu (%.60s): toys must not be negative", i, name);\n')]),
    Toy("column of doses", dose_column, [
        ("src/base/experiment.h", 'follow it if their side is greater")',
         ' \\\n    X(half, "half", FLAG, SOMETIMES, 0, 0, 1, 3, "1: half of the amount is lost")'),
        ("src/ode/doses.c", "    given = is_length ? dose->duration : dose->rate;\n", "    share *= dose->half ? 0.5 : 1;\n")]),
    Toy("number of a fit", statistic, [
        ("src/io/file/fit_column_list.h", '.line = 1, .label = "R squared", .table = 9) \\\n',
         '    X(TOYS, "/fits/toys", DOUBLE, PER_FIT, toys, "number of toys", .line = 1, .label = "number of toys", \\\n'
         "      .table = 9) \\\n"),
        ("src/fit/statistics/statistics.c", "    record->log_prior = findings->log_prior;\n", "    record->toys = 42;\n")]),
    Toy("number that `show`", number_of_show, [
        ("src/use/show_view.c", '    view_counts(view, "stopping_test", stop_name, 1, N_STOP, summary->by_stop);\n',
         '    VIEW_FACTS(view, fact_count("toys_shown", "toys shown", 0, 77));\n')]),
    Toy("fact about a result", fact, [
        ("src/fit/statistics/digest.c", 'fact_count("steps", "integrator steps", 0, digest->n_step)),\n',
         '        fact_meant("twice the fits", fact_count("toy_fits", "toy fits", 0, 2 * digest->n_fit)),\n')]),
    Toy("option of `run`", option, [
        ("src/run/plan/run_options.c", "static const struct option table[] = {\n",
         '    {.name = "draft", .effect = RUN_FITS_LATER, .kind = OPTION_FLAG, .in_file = true,\n'
         '     .offset = FIELD(is_draft), .help = "fits as good as a draft needs"},\n'),
        ("src/run/plan/run_options.c", "    if (check_evaluation(options, error))\n        return error->status;\n",
         "    if (options->is_draft)\n        options->recipe.fit.f_tolerance = 1e-4;\n"),
        ("src/run/plan/run_options.h", "struct run_options {\n", "    bool is_draft; /* --draft */\n")]),
    Toy("budget of a fit", budget, [
        ("src/fit/objective/types.h", '"integrator steps per fit, for each of its experiments") \\\n',
         '    X(int64_t, max_toys, INT64_MAX, "max-toys", INTEGER, .effect = RUN_FITS_LATER, .min = 1, .max = INFINITY, \\\n'
         '      .default_text = "no limit", .help = "toys per fit") \\\n'),
        ("src/fit/objective/point.c", "int64_t most_steps)\n{\n    const struct fit_options *options = asker->options;\n",
         "    if (asker->used.n_evaluation >= options->max_toys)\n"
         '        return fit_asker_end(asker, OUTCOME_budget, "%" PRId64 " toys are used up", options->max_toys);\n')]),
    Toy("way to draw starts", start, [
        ("src/fit/objective/start.c", "        double fraction = ((double)stratum + within) / (double)n_row;\n",
         "        fraction = number == 1 ? 0.5 : fraction;\n")]),
    Toy("command", command, [("src/cli/commands.c", "COMMAND(report)", " COMMAND(toy)")], {"src/cli/toy.c": COMMAND}),
    Toy("error distribution", error_distribution, [
        ("src/base/error_kind.h", '"the sum of Huber\'s losses") \\\n',
         '    X(LOGCOSH, "logcosh", "logcosh", "log-cosh", OTHER, false, false, "logcosh_loss", "the sum of log cosh") \\\n'),
        ("src/fit/objective/loss.c", "static const struct form forms[N_ERROR] = {\n",
         "    [ERROR_LOGCOSH] = {fill_normal, at_logcosh, second_logcosh, quantile_normal},\n"),
        ("src/fit/objective/loss.c", "enum { FRACTION_TERMS = 60 };\n", LOSS)]),
    Toy("integrator", integrator, [
        ("src/ode/evaluation.h", 'X(LANES, "lanes", engine_lanes)', ' X(TOYS, "toys", engine_toys)')],
        {"src/ode/toys.c": integrator_text()}),
    Toy("linear solver", linear_solver, [
        ("src/ode/evaluation.h", "lapack_solver)", ' X(JORDAN, "jordan", toy_solver)')], {"src/ode/jordan.c": SOLVER}),
    Toy("stopping test", stopping_test, [
        ("src/base/method.h", 'cannot be distinguished from the integrator\'s errors")', ' \\\n    X(6, toys, "toys")'),
        ("src/fit/search/stopping.c",
         "    double single = fmax(trust_model_promise_single(model, best), stopping->beyond.single);\n",
         "    if (stopping->asker->options->f_tolerance == 0.01)\n        return STOP_toys;\n")]),
    Toy("function of model text", function, [
        ("src/model/graph/operations.h", 'R_EVERYWHERE("expm1"), \\\n      NAME("\\\\operatorname{expm1}"), \\\n'
         "      times(g, graph_unary(g, GRAPH_EXP, a), da)) /* v + 1 cancels at small exp(a) */ \\\n",
         '    F(EXP2, 1, "exp2", exp2(a), 0, CALL, "exp2", C_NO, R_EVERYWHERE("exp2"), NAME("2^"), \\\n'
         "      times(g, times(g, graph_constant(g, 0.69314718055994531), v), da)) \\\n"),
        ("src/model/text/token.c", '    RESERVED_OPERATION("exp", EXP),\n', '    RESERVED_OPERATION("exp2", EXP2),\n')]),
    Toy("format of tables", table_format, [
        ("src/import/import.h", 'rows of doses and measurements by ID and TIME")', ' \\\n    FORMAT(toys, "a table of toys")')],
        {"src/import/toys.c": FORMAT}),
    Toy("language of formulas", language, [("src/cli/commands.c", "COMMAND(merge)", " COMMAND(reckon)")],
        {"src/cli/reckon.c": FORMULA}, is_of_all=True),
    Toy("kind of frame in the journal", frame, [
        ("src/io/journal/frame.h", "enum frame_type {\n", "    FRAME_TOY = 'T', /* how often a run has begun */\n"),
        ("src/run/compute/shared_fit.c", "                     &fits->population.n, &fits->population.n_start, error);\n",
         "    unsigned char *toy = NULL;\n    size_t n_toy;\n    uint32_t number = 0;\n"
         "    if (!status)\n        status = journal_kept(compute->earlier, FRAME_TOY, &toy, &n_toy, &number, error);\n"
         "    free(toy);\n    if (!status)\n"
         "        status = journal_keep(compute->journal, FRAME_TOY, number + 1, \"toy\", 3, error);\n"
         '    compute_say(compute, "toy %u", (unsigned)number + 1);\n')], is_of_all=True),
    Toy("template of a model", template, models={"models/library/toys.ode": TEXT}),
]


def rows():
    """Of the table: {kind: text}."""
    table = source("ARCHITECTURE.md").partition("## Where a change goes")[2].partition("\n## ")[0]
    return {line.split("|")[1].strip(): line for line in table.splitlines()
            if line.startswith("| ") and "a new ..." not in line}


def test_each_row_has_its_toy(tmp):
    del tmp
    for toy in TOYS:
        row = [text for kind, text in rows().items() if kind.startswith(toy.kind)]
        assert len(row) == 1, f"the table has {len(row)} rows of a {toy.kind}"
        assert len(toy.paths()) <= 2, (toy.kind, toy.paths())
        toy.assert_places()
        for path in set() if toy.is_of_all else {line[0] for line in toy.lines}:
            short = path.removeprefix("src/")
            assert short in row[0] or os.path.basename(path) in row[0], f"the row of a {toy.kind} does not name {short}"
    without = [kind for kind in rows() if not any(kind.startswith(toy.kind) for toy in TOYS)]
    # A device has the row of an integrator; the other one is about tests.
    assert without == ["engine that integrates elsewhere", "kind of fit, way to run fits"], without


@h.more
def test_toys_build_and_run(tmp):
    tree = tmp / "tree"
    tree.mkdir()
    for name in ("Makefile", "include", "models", "scripts", "src"):
        (shutil.copytree if (h.ROOT / name).is_dir() else shutil.copy)(h.ROOT / name, tree / name)
    for toy in TOYS:
        toy.add(tree)
    made = subprocess.run(["make", "-C", tree, f"-j{os.cpu_count()}", "CFLAGS=-O0", "build/stiffit"], capture_output=True,
                          text=True, check=False, env={**os.environ, "MAKEFLAGS": ""})
    assert made.returncode == 0 and "warning" not in made.stderr, made.stderr[-6000:]
    bench = Bench(tree, tmp)
    faults = []
    for toy in TOYS:
        try:
            toy.check(bench)
        except AssertionError as fault:
            faults.append(f"a toy {toy.kind}: {fault!r}")
    assert not faults, "\n".join(faults)


if __name__ == "__main__":
    h.main()
