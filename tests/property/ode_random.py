"""Random models in the language of model text: every construct, every spelling, odd layout; for tests that read them
back in two independent ways. Equal seeds give equal texts.

SPDX-License-Identifier: BSD-3-Clause
"""
import random

from ode_language import ERRORS, FUNCTIONS, KEYWORDS, LEVELS
from ode_layout import Layout

# Names that mean something to C, to its library, to a compiler, to the generated code, or nearly to the language.
STRANGE = ("int double return struct while for auto register restrict inline static volatile sizeof goto main "
           "printf malloc system errno NULL INFINITY NAN M_PI I complex asm typeof linux unix y p at out work "
           "covariate_ rhs initial jacobian observe_ noise prepare d dt e E e1 E5 x1e5 d_dt ddt dx T Time IF "
           "Piecewise pI exp2 jn y0 y1 gamma lgamma fma __LINE__ __attribute__ _ __ _1 EOF true false bool "
           "size_t double_ stiffit_model STIFFIT_OK this new class template operator assert alignas t0 v0 v1 c0 "
           "k1 inf_ pi2 log3 sin_").split()
PLAIN = ("a b c f g h k l m n q r s u v w x z A B C K X Y Z alpha beta kcat Vmax Km dose temperature speed flux total "
         "x_1 k_on k_off a_rather_long_name_of_a_quantity").split()
LABELS = ("1/s", "µM", "°C", "*/", "/*", "??/", "%d %s", "$(rm -rf x)", "`id`", "\\", "a\\", "'", "mol/(L·s)",
          "// no comment", "# none", "", "\t", "日本", "<b>&amp;</b>", "\\n\\0", "${PATH}", "a;b,c")


class RandomModel:
    """text: the model; written: the expressions as they were meant, by place, to be compared with what is read."""

    def __init__(self, seed):
        self.seed = seed
        self.rng = rng = random.Random(seed)
        self.layout = Layout(random.Random(seed + 1))
        large = rng.random() < 0.03
        few = 5 if large else 1
        self.taken = set()
        self.states = self.names(rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 6]) * few)
        self.parameters = self.names(rng.randint(1, 8) * few)
        self.covariates = self.names(rng.choice([0, 0, 1, 2, 3]))
        self.constants = self.names(rng.choice([0, 0, 1, 2, 3]))
        self.early = self.names(rng.choice([0, 0, 1, 2]) * few)  # intermediates without states
        self.late = self.names(rng.choice([0, 1, 2, 3, 5]) * few)
        self.observables = self.names(rng.randint(1, 3) * few)
        self.functions = {}  # name: number of arguments
        self.written = {}
        self.statements = []
        self.bounds = {}
        self.write()
        self.text = self.layout.lay_out(self.statements)

    def names(self, n):
        found = []
        while len(found) < n:
            name = self.rng.choice(STRANGE if self.rng.random() < 0.25 else PLAIN)
            if self.rng.random() < 0.3 or name in self.taken:
                name += self.rng.choice(["_", "2", "X", str(self.rng.randint(0, 99))])
            if name not in self.taken and name not in KEYWORDS:
                self.taken.add(name)
                found.append(name)
        return found

    # --- statements ---
    def put(self, *tokens):
        self.statements.append(list(tokens))

    def meant(self, place, expression, level=0):
        self.written[place] = expression
        return self.layout.expression(expression, level)

    def label(self, chance=0.3):
        return ["unit", f'"{self.rng.choice(LABELS)}"'] if self.rng.random() < chance else []

    def write(self):
        rng = self.rng
        self.write_header()
        constant_pool = []
        for name in self.constants:
            e = self.constant_expression(constant_pool)
            self.put(rng.choice(["constant", "const"]), name, "=", *self.meant(("constant", name), e))
            constant_pool.append(name)
        for name in self.covariates:
            self.put("covariate", name, *self.label())
        self.write_parameters()
        inputs = self.parameters + self.covariates + self.constants
        self.write_functions(inputs)
        pool = inputs + ["t"]
        for name in self.early:
            self.put(name, "=", *self.meant(("intermediate", name), self.expression(pool, rng.randint(1, 3))))
            pool = pool + [name]
        for name in self.states:
            self.write_initial(name, pool)
        pool = pool + self.states * 2
        for name in self.late:
            self.put(name, "=", *self.meant(("intermediate", name), self.expression(pool, rng.randint(1, 4))))
            pool = pool + [name] * 2
        for name in self.states:
            self.write_rate(name, pool)
        self.write_observables(pool)
        rng.shuffle(self.statements)
        self.merge_lists()

    def write_header(self):
        rng = self.rng
        if rng.random() < 0.5:
            self.put("model", rng.choice(["m", "model_1", "int"]), *([f'"{rng.choice(LABELS)}"'] if rng.random() < 0.5
                                                                     else []))
        if rng.random() < 0.3:
            parts = [self.label(0.6), ["from", *self.meant(("from",), self.constant_expression(self.constants))]
                     if rng.random() < 0.7 else []]
            rng.shuffle(parts)
            self.put("time", *parts[0], *parts[1])

    def write_parameters(self):
        rng = self.rng
        for name in self.parameters:
            start, width = rng.choice([0.5, 1, 2, 3.25]), rng.choice([2, 10, 100])
            number = [("number", float(v)) for v in (start, start / width, start * width, width)]
            parts = [self.label()]
            if rng.random() < 0.6:
                lower = rng.choice([number[1], ("/", number[0], number[3]), ("number", 0.0), None])
                upper = rng.choice([number[2], ("*", number[0], number[3]), None])
                below = self.meant(("lower", name), lower) if lower else ["-", "inf"]  # inf stands alone, without ( )
                above = self.meant(("upper", name), upper) if upper else ["inf"]
                parts.append(["in", "[", *below, ",", *above, "]"])
            if rng.random() < 0.5:
                scale = rng.choice(["lin", "log", "log10"])
                if scale == "lin" or len(parts) == 2 and lower:
                    parts.append(["scale", scale])
            if rng.random() < 0.3:  # a log-normal one is always about the parameter itself
                kind = rng.choice(["normal", "lognormal", "laplace", "uniform"])
                first, second = (number[1], number[2]) if kind == "uniform" else (number[0], number[3])
                parts.append(["prior", kind, "(", *self.meant(("first", name), first), ",",
                              *self.meant(("second", name), second), ")",
                              *rng.choice([[], ["on", "natural"],
                                           [] if kind in ("lognormal", "uniform") else ["on", "optimizer"]])])
            rng.shuffle(parts)
            self.put(rng.choice(["parameter", "par"]), name, "=", *self.meant(("start", name), number[0]),
                     *sum(parts, []))

    def write_functions(self, pool):
        rng = self.rng
        for name in self.names(rng.choice([0, 0, 0, 1, 2, 3])):
            arguments = self.names(rng.randint(1, 3))
            e = self.expression(arguments * 2 + pool + ["t"] * (rng.random() < 0.3), rng.randint(1, 3))
            list_ = sum(([",", a] for a in arguments), [])[1:]
            self.put(*rng.choice([["function"], []]), name, "(", *list_, ")", "=", *self.meant(("function", name), e))
            self.functions[name] = len(arguments)

    def write_initial(self, name, pool):
        tokens = self.meant(("initial", name), self.expression(pool, self.rng.randint(0, 2)))
        left = self.rng.choice([[name, "(", "0", ")"], ["init", name]])
        self.put(*left, "=", *tokens, *self.label(0.2))

    def write_rate(self, name, pool):
        tokens = self.meant(("rate", name), self.expression(pool, self.rng.randint(1, 4)))
        left = self.rng.choice([[name, "'"], ["d", "/", "dt", "(", name, ")"], ["d" + name, "/", "dt"]])
        self.put(*left, "=", *tokens)

    def write_observables(self, pool):
        rng = self.rng
        known = [name for name in self.states + self.late + self.early if rng.random() < 0.3]
        for name in self.observables + known[:2]:
            is_new = name in self.observables
            tokens = ["observe", name]
            if is_new:
                tokens += ["=", *self.meant(("intermediate", name), self.expression(pool, rng.randint(0, 3)))]
            parts = [self.label()]
            if rng.random() < 0.5:
                e = self.positive(pool + [name] * 4, rng.randint(0, 2))
                parts.append(["sd", *self.meant(("sd", name), e)])
            if rng.random() < 0.3:
                parts.append([rng.choice(ERRORS)])
            rng.shuffle(parts)
            self.put(*tokens, *sum(parts, []))
            if is_new and rng.random() < 0.3:
                pool.append(name)

    def merge_lists(self):
        """Neighbours of the same kind become one statement with commas, now and then."""
        merged = []
        for tokens in self.statements:
            if (merged and tokens[0] in ("par", "parameter", "const", "constant", "covariate", "init", "observe")
                    and merged[-1][0] == tokens[0] and self.rng.random() < 0.7):
                merged[-1] += [",", *tokens[1:]]
            else:
                merged.append(tokens)
        self.statements = merged

    # --- expressions ---
    def constant_expression(self, pool):
        rng = self.rng
        first = ("name", rng.choice(pool)) if pool and rng.random() < 0.4 else ("number",
                                                                                rng.choice([0.5, 1.0, 2.0, 3.0]))
        second = ("number", rng.choice([0.25, 2.0, 4.0]))
        return rng.choice([first, (rng.choice("+-*/"), first, second), ("neg", first), ("^", second, ("number", 3.0)),
                           ("call", "sqrt", [second]), ("*", ("name", "pi"), second)])

    def number(self):
        rng = self.rng
        return ("number", rng.choice([0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 0.5, 10.0, 0.1, 1e-3, 250.0,
                                      round(rng.uniform(0, 5), rng.randint(0, 6)), rng.uniform(0, 3)]))

    def atom(self, pool):
        if self.rng.random() < 0.25:
            return ("name", "pi") if self.rng.random() < 0.05 else self.number()
        return ("name", self.rng.choice(pool))

    def expression(self, pool, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.05:
            return self.atom(pool)
        def sub():
            return self.expression(pool, depth - 1)
        kind = rng.choices(["+", "*", "/", "^", "sign", "call", "choice", "logic", "own", "twice"],
                           [26, 24, 9, 9, 7, 26, 6, 4, 8, 2])[0]
        if kind in "+*":
            e = sub()
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                e = (rng.choice("+-") if kind == "+" else "*", *rng.choice([(e, sub()), (sub(), e)]))
            return e
        if kind == "/":
            return ("/", sub(), self.positive(pool, depth - 1) if rng.random() < 0.8 else sub())
        if kind == "^":
            return self.power(pool, depth)
        if kind == "sign":
            return (rng.choice(["neg", "neg", "pos"]), sub())
        if kind == "call":
            return self.call(pool, depth)
        if kind == "choice":
            return self.choice(pool, depth)
        if kind == "logic":
            return rng.choice([("*", self.condition(pool, depth - 1), sub()), self.condition(pool, depth - 1)])
        if kind == "own" and self.functions:
            name = rng.choice(list(self.functions))
            return ("call", name, [self.expression(pool, min(1, depth - 1)) for _ in range(self.functions[name])])
        e = sub()
        return rng.choice([("*", e, e), ("-", ("+", e, self.atom(pool)), e), ("/", e, ("+", e, self.number()))])

    def positive(self, pool, depth):
        rng = self.rng
        e = self.expression(pool, depth - 1)
        small = ("number", rng.choice([0.25, 0.5, 1.0, 2.0]))
        return rng.choice([("+", ("^", e, ("number", 2.0)), small), ("+", ("call", "abs", [e]), small),
                           ("call", "exp", [("call", "tanh", [e])]), ("name", rng.choice(self.parameters)),
                           ("+", small, ("name", rng.choice(self.parameters)))])

    def power(self, pool, depth):
        rng = self.rng
        e = self.expression(pool, depth - 1)
        if rng.random() < 0.6:
            exponent = rng.choice([("number", float(rng.choice([0, 1, 2, 2, 2, 3, 3, 4, 5, 7, 16, 17]))),
                                   ("neg", ("number", float(rng.randint(1, 4))))])
            return ("^", e, exponent)
        base = self.positive(pool, depth - 1)
        exponent = rng.choice([("number", rng.choice([0.5, 1.5, 2.5, 0.1, 1.7])), ("neg", ("number", 0.5)),
                               ("/", ("number", 1.0), ("number", 3.0)), self.atom(pool),
                               ("call", "tanh", [self.expression(pool, depth - 2)])])
        return rng.choice([("^", base, exponent), ("^", base, exponent), ("call", "pow", [base, exponent])])

    def call(self, pool, depth):
        rng = self.rng
        name = rng.choice(list(FUNCTIONS) + ["min", "max", "exp", "log", "sqrt"])
        def sub():
            return self.expression(pool, depth - 1)
        if name in ("min", "max"):
            return ("call", name, [sub() for _ in range(rng.choice([2, 2, 3, 5]))])
        if name == "pow":
            return self.power(pool, depth)
        if name == "atan2":
            return ("call", name, [sub(), sub()])
        e = sub()
        if rng.random() < 0.85:  # keep within the domain and within range
            if name in ("log", "log2", "log10", "log1p", "sqrt"):
                e = self.positive(pool, depth - 1)
            elif name == "lgamma":
                e = ("+", ("number", 0.2), self.positive(pool, depth - 1))
            elif name in ("asin", "acos", "atanh"):
                e = ("*", ("number", 0.75), ("call", rng.choice(["sin", "tanh", "cos"]), [e]))
            elif name == "acosh":
                e = ("+", ("number", 1.0), self.positive(pool, depth - 1))
            elif name in ("exp", "sinh", "cosh", "expm1"):
                e = rng.choice([("neg", ("call", "abs", [e])), ("call", "sin", [e]), ("/", e, ("number", 10.0))])
        return ("call", name, [e])

    def condition(self, pool, depth):
        rng = self.rng
        def sub():
            return self.expression(pool, depth - 1)
        kind = rng.random()
        if kind < 0.6 or depth <= 0:
            return (rng.choice(LEVELS[3]), sub(), sub())
        if kind < 0.8:
            return (rng.choice(["and", "or"]), self.condition(pool, depth - 1), self.condition(pool, depth - 1))
        return ("not", self.condition(pool, depth - 1)) if kind < 0.9 else sub()

    def choice(self, pool, depth):
        rng = self.rng
        def sub():
            return self.expression(pool, depth - 1)
        if rng.random() < 0.5:
            return ("if", self.condition(pool, depth - 1), sub(), sub())
        arguments = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            arguments += [sub(), self.condition(pool, depth - 1)]
        return ("call", "piecewise", arguments + [sub()])
