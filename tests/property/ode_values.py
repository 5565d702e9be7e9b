"""Evaluates expressions read by ode_language: values and derivatives in extended precision, how far rounding may take a
double from them, and differences of high order. Independent of the program: own rules for every function.

SPDX-License-Identifier: BSD-3-Clause

Every quantity is an array over samples. A point is evaluated in 1 + N_NOISY samples with derivatives by the chain rule:
the first as exactly as long double allows, the others with each operation's result changed at random by up to an ulp of
double precision (Monte Carlo arithmetic, Parker 1997): the spread is what rounding in doubles does to that quantity,
cancellation and all. The difference quotients are a second oracle that knows no chain rule.
"""
import numpy as np

LONG = np.longdouble
ULP = LONG(2) ** -52
FAR = LONG(1e140)  # beyond it, and below its inverse, squares are out of range for double, though not for long double
PI = LONG("3.14159265358979323846264338327950288")
N_NOISY = 8
# Central differences at offsets 1..4, order 8 and (for the error) order 6.
ORDER_8 = np.array([LONG(4) / 5, -LONG(1) / 5, LONG(4) / 105, -LONG(1) / 280], LONG)
ORDER_6 = np.array([LONG(3) / 4, -LONG(3) / 20, LONG(1) / 60, 0], LONG)


class Quantity:
    """v: values; d: derivatives by each leaf (leaf x sample) or None for zero; by: the leaves that it depends on at all
    (a column; the rows of d for the others are 0, not 0 times infinity); torn: samples that are on another branch of a
    jump or kink than their centre, or beyond the range of double (or None); kink: samples on a kink itself, where the
    derivative is a matter of taste."""
    __slots__ = ("v", "d", "by", "torn", "kink")

    def __init__(self, v, d=None, by=None, torn=None, kink=None):
        self.v, self.d, self.by, self.torn, self.kink = v, d, by, torn, kink


def either(*flags):
    flags = [flag for flag in flags if flag is not None]
    return None if not flags else flags[0] if len(flags) == 1 else np.logical_or.reduce(flags)


def series_erf(x):
    """2/sqrt(pi) exp(-x^2) sum 2^n x^(2n+1)/(2n+1)!! (Abramowitz & Stegun 7.1.6): no cancellation."""
    term, total = x.copy(), x.copy()
    for n in range(1, 90):
        term = term * 2 * x * x / (2 * n + 1)
        total = total + term
    return 2 / np.sqrt(PI) * np.exp(-x * x) * total


def fraction_erfc(x):
    """exp(-x^2)/sqrt(pi) 1/(x + (1/2)/(x + 1/(x + (3/2)/(x + ...)))) for x >= 2 (Abramowitz & Stegun 7.1.14)."""
    tail = x.copy()
    for n in range(160, 0, -1):
        tail = x + LONG(n) / 2 / tail
    return np.exp(-x * x) / (np.sqrt(PI) * tail)


def erf(x):
    near = np.abs(x) < 2
    inside = series_erf(np.where(near, x, 0))
    return np.where(near, inside, np.sign(x) * (1 - fraction_erfc(np.where(near, 2, np.abs(x)))))


def erfc(x):
    near = x < 2
    inside = 1 - erf(np.where(near, x, 0))
    return np.where(near, inside, fraction_erfc(np.where(near, LONG(2), x)))


BERNOULLI = [LONG(a) / b for a, b in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510))]


def gammas(x):
    """log |Gamma| and digamma: recurrences up to 25, then Stirling's series (Abramowitz & Stegun 6.1.40, 6.3.18), below 0 by
    reflection."""
    with np.errstate(all="ignore"):
        at = np.where(x < 0, 1 - x, x).astype(LONG)
        product, total = np.ones_like(at), np.zeros_like(at)
        for _ in range(25):
            less = at < 25
            product, total = np.where(less, product * at, product), np.where(less, total + 1 / at, total)
            at = np.where(less, at + 1, at)
        log, slope = (at - LONG(0.5)) * np.log(at) - at + np.log(2 * PI) / 2, np.log(at) - 1 / (2 * at)
        for k, b in enumerate(BERNOULLI, 1):
            log, slope = log + b / (2 * k * (2 * k - 1)) * at ** (1 - 2 * k), slope - b / (2 * k) * at ** (-2 * k)
        log, slope = log - np.log(product), slope - total
        angle = PI * (x - np.rint(x))
        return (np.where(x < 0, np.log(PI / np.abs(np.sin(angle))) - log, log),
                np.where(x < 0, slope - PI / np.tan(angle), slope))


def log_of(base):
    factor = np.log(LONG(base))
    return lambda x, v: 1 / (x * factor)


# Name: (value of x, derivative of x and the value).
SMOOTH = {"exp": (np.exp, lambda x, v: v), "expm1": (np.expm1, lambda x, v: v + 1), "log": (np.log, lambda x, v: 1 / x),
          "log1p": (np.log1p, lambda x, v: 1 / (1 + x)), "log10": (np.log10, log_of(10)), "log2": (np.log2, log_of(2)),
          "sqrt": (np.sqrt, lambda x, v: 1 / (2 * v)), "cbrt": (np.cbrt, lambda x, v: 1 / (3 * v * v)),
          "sin": (np.sin, lambda x, v: np.cos(x)), "cos": (np.cos, lambda x, v: -np.sin(x)),
          "tan": (np.tan, lambda x, v: 1 + v * v), "asin": (np.arcsin, lambda x, v: 1 / np.sqrt(1 - x * x)),
          "acos": (np.arccos, lambda x, v: -1 / np.sqrt(1 - x * x)), "atan": (np.arctan, lambda x, v: 1 / (1 + x * x)),
          "sinh": (np.sinh, lambda x, v: np.cosh(x)), "cosh": (np.cosh, lambda x, v: np.sinh(x)),
          "tanh": (np.tanh, lambda x, v: 1 - v * v), "asinh": (np.arcsinh, lambda x, v: 1 / np.sqrt(1 + x * x)),
          "acosh": (np.arccosh, lambda x, v: 1 / np.sqrt(x * x - 1)), "atanh": (np.arctanh, lambda x,
                                                                                v: 1 / (1 - x * x)),
          "lgamma": (lambda x: gammas(x)[0], lambda x, v: gammas(x)[1]),
          "erf": (erf, lambda x, v: 2 / np.sqrt(PI) * np.exp(-x * x)), "erfc": (erfc, lambda x, v: -2 / np.sqrt(PI)
                                                                                * np.exp(-x * x)),}
STEPS = {"sign": np.sign, "floor": np.floor, "ceil": np.ceil,
         "heaviside": lambda x: np.where(np.isnan(x), x, (x >= 0).astype(LONG))}
COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
               "!=": np.not_equal}


class Samples:
    """Arithmetic over samples. centre[i] is the sample whose branches sample i should share; noisy says which are to be
    rounded at random."""

    def __init__(self, centre, noisy, rng):
        self.centre, self.turn = centre, 0
        self.noise = None
        if noisy.any():
            self.noise = 1 + np.where(noisy, rng.uniform(-1, 1, (61, len(noisy))).astype(LONG) * ULP, LONG(0))

    def rounded(self, v):
        if self.noise is None:
            return v
        self.turn = (self.turn + 1) % len(self.noise)
        return v * self.noise[self.turn]

    def made(self, v, *terms):
        """A result v of terms (argument, partial derivative as a function or None where there is none)."""
        d = None
        for argument, partial in terms:
            if argument.d is not None:
                part = np.where(argument.by, self.rounded(argument.d * self.rounded(partial())), 0)
                d = part if d is None else self.rounded(d + part)
        size = np.abs(v)
        far = ~(size < FAR) | (size < 1 / FAR) & (size != 0)
        return Quantity(v, d, either(*(a.by for a, _ in terms)),
                        either(*(a.torn for a, _ in terms), far if far.any() else None),
                        either(*(a.kink for a, _ in terms)))

    def torn(self, branch):
        other = branch != branch[self.centre]
        return other if other.any() else None

    def constant(self, value):
        return Quantity(np.full(len(self.centre), value, LONG))

    def pi(self):
        return Quantity(self.rounded(self.constant(PI).v))

    def truth(self, a):
        true = a.v != 0
        return true, either(a.torn, self.torn(true))

    def power(self, a, b):
        # Fractions such as 1/3 and 2.5 are exponents like any other; only whole ones have negative bases.
        v = self.rounded(np.power(a.v, b.v))

        def by_exponent():
            limit = (a.v == 0) & (b.v > 0)
            return np.where(limit, 0, v * np.log(np.where(limit, 1, a.v)))
        return self.made(v, (a, lambda: b.v * np.power(a.v, b.v - 1)), (b, by_exponent))

    def binary(self, sign, a, b):
        if sign in ("+", "-"):
            v = self.rounded(a.v + b.v if sign == "+" else a.v - b.v)
            return self.made(v, (a, lambda: LONG(1)), (b, lambda: LONG(1 if sign == "+" else -1)))
        if sign == "*":
            return self.made(self.rounded(a.v * b.v), (a, lambda: b.v), (b, lambda: a.v))
        if sign == "/":
            v = self.rounded(a.v / b.v)
            return self.made(v, (a, lambda: 1 / b.v), (b, lambda: -v / b.v))
        if sign in ("^", "pow"):
            return self.power(a, b)
        if sign == "atan2":
            square = a.v * a.v + b.v * b.v
            result = self.made(self.rounded(np.arctan2(a.v, b.v)), (a, lambda: b.v / square),
                               (b, lambda: -a.v / square))
            # pi or -pi hangs on the sign of a zero, which no simplification keeps.
            result.torn = either(result.torn, self.torn(np.where(b.v < 0, np.sign(a.v), 0)), (a.v == 0) & (b.v <= 0))
            return result
        if sign in ("and", "or"):
            (left, torn_left), (right, torn_right) = self.truth(a), self.truth(b)
            both = left & right if sign == "and" else left | right
            return Quantity(both.astype(LONG), torn=either(torn_left, torn_right))
        torn = either(a.torn, b.torn, self.torn(np.sign(a.v - b.v)))
        return Quantity(COMPARISONS[sign](a.v, b.v).astype(LONG), torn=torn)

    def choose(self, take_a, torn, a, b):
        d = None
        if a.d is not None or b.d is not None:
            d = np.where(take_a, LONG(0) if a.d is None else a.d, LONG(0) if b.d is None else b.d)
        kink = None
        if a.kink is not None or b.kink is not None:
            kink = np.where(take_a, False if a.kink is None else a.kink, False if b.kink is None else b.kink)
        lost = np.where(take_a, False if a.torn is None else a.torn, False if b.torn is None else b.torn)
        return Quantity(np.where(take_a, a.v, b.v), d, either(a.by, b.by), either(torn, lost if lost.any() else None),
                        kink)

    def select(self, condition, a, b):
        return self.choose(*self.truth(condition), a, b)

    def extreme(self, name, a, b):
        side = np.sign(a.v - b.v)
        taken = b.v < a.v if name == "min" else b.v > a.v
        result = self.choose(~(taken | np.isnan(b.v)), self.torn(side), a, b)
        result.torn = either(result.torn, a.torn, b.torn)  # what is out of range on one side decides, too
        if result.d is not None:
            result.kink = either(result.kink, side == 0)
        return result

    def unary(self, name, a):
        if name == "pos":
            return a
        if name == "neg":
            return self.made(-a.v, (a, lambda: LONG(-1)))
        if name == "not":
            true, torn = self.truth(a)
            return Quantity((~true).astype(LONG), torn=torn)
        if name == "abs":
            side = np.sign(a.v)
            result = self.made(np.abs(a.v), (a, lambda: side))
            result.torn = either(result.torn, self.torn(side))
            result.kink = either(result.kink, side == 0) if a.d is not None else result.kink
            return result
        if name in STEPS:
            v = STEPS[name](a.v)
            # The value right on the step is an exact one; a step beside it is another.
            on_step = a.v == np.floor(a.v) if name in ("floor", "ceil") else a.v == 0
            return Quantity(v, torn=either(a.torn, self.torn(v), self.torn(on_step)))
        value, slope = SMOOTH[name]
        v = self.rounded(value(a.v))
        return self.made(v, (a, lambda: slope(a.v, v)))


class Evaluator:
    """Values of a Model's expressions, with `leaf` giving the Quantity of each state, parameter, covariate and t."""

    def __init__(self, model, samples, leaf):
        self.model, self.samples, self.known = model, samples, dict(leaf)

    def name(self, name):
        if name not in self.known:
            if name == "pi":
                self.known[name] = self.samples.pi()
            else:
                value = self.model.value_of(name)
                if value is None:
                    raise KeyError(name)
                self.known[name] = self.of(value, {})
        return self.known[name]

    def of(self, e, bound=None):
        bound = bound or {}
        if e[0] == "number":
            return self.samples.constant(LONG(e[1]))
        if e[0] == "name":
            return bound[e[1]] if e[1] in bound else self.name(e[1])
        if e[0] == "call":
            return self.call(e[1], [self.of(a, bound) for a in e[2]])
        arguments = [self.of(a, bound) for a in e[1:]]
        if e[0] == "if":
            return self.samples.select(*arguments)
        return self.samples.unary(e[0], *arguments) if len(arguments) == 1 else self.samples.binary(e[0], *arguments)

    def call(self, name, arguments):
        if name in self.model.functions:
            names, body = self.model.functions[name]
            return self.of(body, dict(zip(names, arguments, strict=True)))
        if name == "piecewise":
            result = arguments[-1]
            for value, condition in reversed(list(zip(arguments[0:-1:2], arguments[1:-1:2], strict=True))):
                result = self.samples.select(condition, value, result)
            return result
        if name in ("min", "max"):
            result = arguments[0]
            for other in arguments[1:]:
                result = self.samples.extreme(name, result, other)
            return result
        if len(arguments) == 2:
            return self.samples.binary(name, *arguments)
        return self.samples.unary(name, *arguments)


def constant(model, expression):
    """The number that a CONST is."""
    samples = Samples(np.zeros(1, int), np.zeros(1, bool), None)
    return float(Evaluator(model, samples, {}).of(expression).v[0])
