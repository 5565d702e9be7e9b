"""`stiffit simulate` without a fit: tables of parameters, doses, experiments and inputs; replicates and their quantiles.

SPDX-License-Identifier: BSD-3-Clause

Oracles: superposition of exponentials, SciPy's integrator and SciPy's distributions.
"""
import csv
import io

import helpers as h
import numpy as np
import scipy.integrate
import scipy.stats

DRUG = """model pk "one compartment, bolus doses"
parameter k = 0.2 in [0.001, 10] scale log prior log-normal(log(0.2), 0.3)
parameter V = 10 in [0.1, 1000] scale log
covariate wt
drug(0) = 0
drug' = -k*drug
observe conc = drug/(V*wt/70)
"""
DOSES = {"a": [(0, 100), (4, 50)], "b": [(1, 200)], "c": []}
SUBJECTS = {"b": (0.1, 20, 70), "a": (0.3, 10, 35), "c": (0.2, 5, 140)}


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def numbers(table, name):
    return np.array([float(row[name]) for row in table])


def concentration(name, time, after):
    k, volume, weight = SUBJECTS[name]
    amount = sum(d * np.exp(-k * (time - t)) for t, d in DOSES[name] if t < time or (t == time and after))
    return amount / (volume * weight / 70)


def study(tmp):
    (tmp / "m.ode").write_text(DRUG)
    (tmp / "p.csv").write_text("dataset,k,V,wt\n" + "".join(
        f"{name},{k},{'' if name == 'a' else v},{wt}\n" for name, (k, v, wt) in SUBJECTS.items()))  # a: the model's start
    (tmp / "d.csv").write_text("dataset,time,amount\n" + "".join(
        f"{name},{t},{d}\n" for name, doses in DOSES.items() for t, d in doses) + "other,1,1\n")


def simulate(tmp, *args, **keywords):
    return h.stiffit("simulate", "-m", tmp / "m.ode", *args, **keywords)


def test_doses_and_covariates_of_a_table_of_parameters(tmp):
    study(tmp)
    done = simulate(tmp, "-p", tmp / "p.csv", "--doses", tmp / "d.csv", "-t", "0,1,4,9")
    assert "1 row of" in done.stderr and "not simulated" in done.stderr, done.stderr  # the doses of "other"
    table = rows(done.stdout)
    assert list(dict.fromkeys(row["dataset"] for row in table)) == list(SUBJECTS)  # the order of the table
    expected = [concentration(row["dataset"], float(row["time"]), row["side"] != "before") for row in table]
    np.testing.assert_allclose(numbers(table, "value"), expected, rtol=1e-6, atol=1e-9)  # rtol 1e-8 a step
    assert {(row["dataset"], row["time"]) for row in table if row["side"]} == {("a", "0"), ("a", "4"), ("b", "1")}
    # the tables of stiffit import, and its names of columns, are read, too
    (tmp / "q.csv").write_text((tmp / "p.csv").read_text().replace("dataset,k,V", "id,start_k,fixed_V"))
    assert simulate(tmp, "-p", tmp / "q.csv", "--doses", tmp / "d.csv", "-t", "0,1,4,9").stdout == done.stdout


def test_values_outside_of_the_bounds_and_on_zero(tmp):
    (tmp / "m.ode").write_text(DRUG.replace("covariate wt\n", "").replace("V*wt/70", "V"))
    (tmp / "d.csv").write_text("time,amount\n0,100\n")
    table = rows(simulate(tmp, "--doses", tmp / "d.csv", "--set", "k=0", "-t", "3").stdout)
    assert table[0]["dataset"] == "simulated" and float(table[0]["value"]) == 10
    (tmp / "p.csv").write_text("dataset,k,V\n1,0,5000\n2,20,1\n")  # the bounds are those of fits
    (tmp / "d.csv").write_text("dataset,time,amount\n1,0,100\n2,0,100\n")
    table = rows(simulate(tmp, "-p", tmp / "p.csv", "--doses", tmp / "d.csv", "-t", "0.5").stdout)
    np.testing.assert_allclose(numbers(table, "value"), [0.02, 100 * np.exp(-10)], rtol=1e-5)  # 1e-8 a step


def test_times_before_the_initial_one_have_no_value(tmp):
    (tmp / "m.ode").write_text("model m\nparameter k = 1\nx(0) = 3\nx' = -k*x\nobserve y = x\n")
    (tmp / "p.csv").write_text("dataset,k,t0\na,0.5,2\nb,2,\n")
    done = simulate(tmp, "-p", tmp / "p.csv", "-t", "1,2,4")
    np.testing.assert_allclose(numbers(rows(done.stdout), "value"),
                               [np.nan, 3, 3 * np.exp(-1), *(3 * np.exp([-2, -4, -8]))], rtol=1e-6)
    assert "1 of 6 predictions" in done.stderr, done.stderr


def test_experiments_inputs_and_steady_states(tmp):
    (tmp / "m.ode").write_text("""model two
parameter k = 1, g = 2
input light
covariate start
x(0) = start
x' = g*light - k*x
observe y = x
""")
    (tmp / "p.csv").write_text("dataset,k,g\nu,0.5,1\nv,2,3\n")
    (tmp / "e.csv").write_text("dataset,experiment,start,t0,steady\n" + "".join(
        f"{d},rest,0,0,\n{d},step,0,0,rest\n{d},late,5,1,\n" for d in "uv"))
    (tmp / "i.csv").write_text("dataset,experiment,time,value\n" + "".join(
        f"{d},rest,0,1\n{d},step,0,1\n{d},step,2,4\n{d},late,0,2\n" for d in "uv"))
    table = rows(simulate(tmp, "-p", tmp / "p.csv", "--experiments", tmp / "e.csv", "--inputs", tmp / "i.csv",
                          "-t", "1.5,3").stdout)
    assert [row["experiment"] for row in table[::2]] == ["rest", "step", "late"] * 2
    for row in table:
        k, g = {"u": (0.5, 1), "v": (2, 3)}[row["dataset"]]
        light = {"rest": lambda t: 1, "step": lambda t: 1 if t < 2 else 4, "late": lambda t: 2}[row["experiment"]]
        begin, value = {"rest": (0, 0), "step": (0, g / k), "late": (1, 5)}[row["experiment"]]
        solved = scipy.integrate.solve_ivp(lambda t, x, k=k, g=g, light=light: g * light(t) - k * x,
                                           (begin, float(row["time"])), [value], rtol=1e-10, atol=1e-12, max_step=0.01).y[0, -1]
        np.testing.assert_allclose(float(row["value"]), solved, rtol=1e-5)  # SciPy steps over the jump within 0.01


def test_noise_and_its_quantiles(tmp):
    study(tmp)
    args = ("-p", tmp / "p.csv", "--doses", tmp / "d.csv", "-t", "2,7", "-q", "--noise", "0.1")
    table = rows(simulate(tmp, *args, "--replicates", "1000", "--id", "b").stdout)
    assert table[0]["dataset"] == "b/0001" and table[-1]["dataset"] == "b/1000"
    again = rows(simulate(tmp, *args, "--replicates", "1000").stdout)
    assert [row for row in again if row["dataset"].startswith("b/")] == table  # a function of seed, dataset and replicate
    assert rows(simulate(tmp, *args, "--replicates", "1000", "--id", "b", "--seed", "2").stdout) != table
    for time in (2, 7):
        values = np.array([float(row["value"]) for row in table if float(row["time"]) == time])
        truth = concentration("b", time, True)
        # a level of 1e-4; the seed is fixed
        assert scipy.stats.kstest(values / truth, scipy.stats.norm(1, 0.1).cdf).pvalue > 1e-4
        bands = [row for row in rows(simulate(tmp, *args, "--replicates", "1000", "--bands", "0.05,0.5,1").stdout)
                 if row["dataset"] == "b" and float(row["time"]) == time][0]
        np.testing.assert_allclose(float(bands["value"]), truth, rtol=1e-6)
        np.testing.assert_allclose([float(bands[name]) for name in ("q0.05", "q0.5", "q1")],
                                   np.quantile(values, [0.05, 0.5, 1]), rtol=1e-12)


def test_noise_of_every_distribution(tmp):
    """Student's 4 degrees of freedom and Huber's 1.345 are the defaults of a run; every form draws with them."""
    k = 1.345
    huber = scipy.integrate.quad(lambda x: np.exp(-x*x/2 if abs(x) < k else k*k/2 - k*abs(x)), -np.inf, np.inf)[0]
    grid = np.linspace(-40, 40, 80001)
    density = np.exp(np.where(np.abs(grid) < k, -grid**2/2, k*k/2 - k*np.abs(grid))) / huber
    below = scipy.integrate.cumulative_trapezoid(density, grid, initial=0)
    for kind, cdf in (("normal", scipy.stats.norm.cdf), ("laplace", scipy.stats.laplace.cdf), ("student", scipy.stats.t(4).cdf),
                      ("huber", lambda x: np.interp(x, grid, below))):
        (tmp / "m.ode").write_text(f"model m\nparameter A = 2\nobserve y = A {kind} sd 0.3\n")
        (tmp / "p.csv").write_text("dataset,A\na,2\n")
        for words in (("--times", 1, "--with-noise", "--replicates", 1000),
                      ("--times", 1, "--with-noise", "--replicates", 1000, "-p", tmp / "p.csv"),
                      ("--times", ",".join(map(str, range(1, 1001))), "--with-noise")):
            z = (numbers(rows(simulate(tmp, *words).stdout), "value") - 2) / 0.3
            assert len(z) == 1000 and scipy.stats.kstest(z, cdf).pvalue > 1e-4, (kind, words)  # the seed is fixed


def test_parameters_from_priors(tmp):
    (tmp / "m.ode").write_text("""model priors
parameter a = 0.2 in [0.001, 10] scale log   prior log-normal(log(0.2), 0.3)
parameter b = 1   in [0.8, 3]                prior normal(1, 0.5)
parameter c = 1                              prior uniform(0.5, 2)
parameter d = 4
x(0) = a
x' = -b*x*c
observe y = x + d
""")
    done = simulate(tmp, "--draw", "prior", "--replicates", "1000", "-t", "1", "--truth", tmp / "truth.csv")
    truth = rows((tmp / "truth.csv").read_text())
    cut = scipy.stats.truncnorm((0.8 - 1) / 0.5, (3 - 1) / 0.5, 1, 0.5)
    wanted = {"a": scipy.stats.lognorm(0.3, scale=0.2), "b": cut, "c": scipy.stats.uniform(0.5, 1.5)}
    for name, distribution in wanted.items():
        assert scipy.stats.kstest(numbers(truth, name), distribution.cdf).pvalue > 1e-4, name
    a, b, c, d = (numbers(truth, name) for name in "abcd")
    assert (d == 4).all()
    np.testing.assert_allclose(numbers(rows(done.stdout), "value"), a * np.exp(-b * c) + d, rtol=1e-7)
    simulate(tmp, "--draw", "prior", "--replicates", "2", "-t", "1", "--truth", tmp / "comma.csv", "--decimal-comma")
    text = (tmp / "comma.csv").read_text()  # semicolons in the head, too
    assert "." not in text and [line.count(";") for line in text.splitlines()] == [4, 4, 4], text
    simulate(tmp, "--draw", "prior", "--replicates", "2", "-t", "1", "--truth", tmp / "types.csv", "--types-row")
    assert (tmp / "types.csv").read_text().splitlines()[1] == "text,number,number,number,number"


def test_a_large_file_is_announced(tmp):
    """Its size is said before it is written; here it cannot be."""
    (tmp / "m.ode").write_text("parameter k = 1\nx(0) = 1\nx' = -k*x\nobserve x\n")
    for n, is_large in (("1e7", False), ("1e8", True)):
        said = h.stiffit("simulate", "-m", tmp / "m.ode", "-t", "1", "--datasets", n, "--noise", "0.1", "-o",
                         tmp / "none" / "x.h5", code=(2, 3, 4)).stderr
        assert ("note: 1e+08 measurements in 1e+08 datasets: the file may take 2.61 GiB" in said) == is_large, said


def test_parameters_from_the_covariance_of_a_fit(tmp):
    h.decay_problem(tmp / "f.h5", 3)
    h.run(tmp / "f.h5")
    result = h.result_path(tmp / "f.h5")
    fits = h.read_fits(result)
    done = h.stiffit("simulate", result, "--trust", "-t", "1", "--id", "d1", "--draw", "covariance", "--replicates", "2000",
                     "--truth", tmp / "truth.csv")
    truth = rows((tmp / "truth.csv").read_text())
    n = len(fits["names"])
    best, covariance = fits["parameters"][1], fits["covariance"][1].reshape(n, n)
    drawn = np.log(np.array([numbers(truth, name) for name in fits["names"]]))  # its scales are logarithms
    wanted = covariance / np.outer(best, best)
    error = np.sqrt(np.diag(wanted))
    # 4 standard errors of a mean and of a variance of 2000 draws
    np.testing.assert_array_less(np.abs(drawn.mean(axis=1) - np.log(best)), 4 * error / np.sqrt(2000))
    np.testing.assert_array_less(np.abs(np.cov(drawn) - wanted), 4 * np.sqrt(2 / 2000) * np.outer(error, error))
    k, a = (np.exp(drawn[fits["names"].index(name)]) for name in ("k", "A"))
    np.testing.assert_allclose(numbers(rows(done.stdout), "value"), a * np.exp(-k), rtol=1e-4)  # the run's rtol 1e-6


def test_noise_of_a_fit_is_its_residual_error(tmp):
    h.decay_problem(tmp / "f.h5", 1)
    h.run(tmp / "f.h5")
    result = h.result_path(tmp / "f.h5")
    args = ("simulate", result, "--trust", "-t", "1")
    plain = float(rows(h.stiffit(*args).stdout)[0]["value"])
    values = numbers(rows(h.stiffit(*args, "--with-noise", "--replicates", "1000").stdout), "value")
    sigma = h.read_fits(result)["residual_error"][0]
    assert scipy.stats.kstest(values, scipy.stats.norm(plain, sigma).cdf).pvalue > 1e-4
    # Known sigmas belong to their measurements: errors at other times have no size, which was taken for 0.
    h.decay_problem(tmp / "sigma.h5", 1, known_sigma=True)
    h.run(tmp / "sigma.h5")
    args = ("simulate", h.result_path(tmp / "sigma.h5"), "--trust", "-t", "1", "--with-noise")
    assert "give --noise or --noise-absolute" in h.stiffit(*args, code=2).stderr
    assert "give --noise or --noise-absolute" in h.stiffit(*args, "--bands", "0.05,0.95", code=2).stderr
    h.stiffit(*args, "--noise-absolute", "0.1")


def test_faults_say_what_to_do(tmp):
    study(tmp)
    table = ("-p", tmp / "p.csv")
    for args, words in (((*table, "-t", "1", "--replicates", "3"), "--with-noise"),
                        (("-t", "1", "--doses", tmp / "d.csv"), "--parameters"),
                        ((*table, "-t", "1", "--with-noise"), "--noise-absolute"),
                        ((*table, "-t", "1", "--covariate", "wt=3"), "put it into a table"),
                        ((*table, "-t", "1", "--draw", "covariance"), "needs a result"),
                        ((*table, "-t", "1", "--noise", "0.1", "--bands", "0.5,2"), "probability"),
                        ((*table, "-t", "1", "-n", "3", "-o", tmp / "o.h5"), "not for a problem file"),
                        ((*table,), "--times")):
        assert words in simulate(tmp, *args, code=2).stderr, args
    (tmp / "p.csv").write_text("dataset,k,V,wt\na,0.1,1,\n")
    done = simulate(tmp, *table, "-t", "1", code=3)
    assert "dataset 'a' cannot be simulated" in done.stderr and "wt" in done.stderr, done.stderr
    (tmp / "p.csv").write_text("dataset,k,V,wt\na,0.1,1,1\na,0.1,1,1\n")
    assert "appears twice" in simulate(tmp, *table, "-t", "1", code=3).stderr
    (tmp / "p.csv").write_text("dataset,k,V,wt\n,0.1,1,1\n")
    done = simulate(tmp, *table, "-t", "1", code=3)
    assert "the tables: " in done.stderr and "/tmp" not in done.stderr and "id" in done.stderr, done.stderr
    assert "standard input" in simulate(tmp, "-p", "-", "-t", "1", code=2).stderr
    (tmp / "p.csv").write_text("dataset,k,V,wt\n")
    assert "no datasets" in simulate(tmp, *table, "-t", "1", code=3).stderr


if __name__ == "__main__":
    h.main()
