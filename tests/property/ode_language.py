"""An independent reader of model text, written from the manual's grammar alone: what the program makes of a model is
compared with what this makes of the same text. Only for texts that are right: it has no good error messages.

SPDX-License-Identifier: BSD-3-Clause

Expressions are tuples: ("number", value), ("name", name), ("call", function, [arguments]), ("if", c, a, b),
(operator, a) for "neg" "pos" "not", (operator, a, b) for the others of BINARY.
"""
import re

TOKEN = re.compile(r"""
    (?P<blank>[ \t\r]+ | (?:\#|//)[^\n]*)
  | (?P<newline>\n)
  | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<string>"[^"\n]*")
  | (?P<sign>\*\*|<=|>=|==|!=|&&|\|\||[-+*/^()\[\],;='<>!\\])""", re.X)
SPELLING = {"**": "^", "&&": "and", "||": "or", "!": "not", "ln": "log", "time": "t"}
LEVELS = [("or",), ("and",), ("not",), ("<", "<=", ">", ">=", "==", "!="), ("+", "-"), ("*", "/")]
BINARY = {sign for level in LEVELS for sign in level if sign != "not"} | {"^"}
FUNCTIONS = dict.fromkeys("exp log log10 log2 log1p expm1 sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh"
                          " acosh atanh erf erfc lgamma abs sign floor ceil heaviside".split(), 1) | {"pow": 2, "atan2": 2}
ERRORS = ("normal", "lognormal", "laplace", "huber", "student")  # words where they may stand, names elsewhere
KEYWORDS = set("model time t parameter par constant const covariate init function observe if then else and or not in"
               " scale unit sd prior from lin pi inf piecewise ln min max".split()) | set(FUNCTIONS)
END = ("end", "", 0)


class Wrong(Exception):
    """The text is not in the language (or this reader is wrong)."""


def statements(text):
    """Lists of tokens (kind, text, line), one list a statement."""
    text = text.removeprefix("\ufeff")
    found, now, depth, place, line = [], [], 0, 0, 1
    while place < len(text):
        match = TOKEN.match(text, place)
        if not match:
            raise Wrong(f"line {line}: {text[place:place + 20]!r}")
        place, kind, word = match.end(), match.lastgroup, match.group()
        if kind == "newline":
            line += 1
            if now and now[-1][1] == "\\":
                now.pop()
            elif depth == 0 and now:
                found.append(now)
                now = []
        elif word == ";" and depth == 0:
            found += [now] if now else []
            now = []
        elif kind != "blank":
            depth += (word in "([") - (word in ")]") if kind == "sign" else 0
            now.append((kind, word, line))
    return found + ([now] if now else [])


class Statement:
    """One statement's tokens, read from left to right."""

    def __init__(self, tokens):
        self.tokens, self.at = tokens, 0

    def peek(self, ahead=0):
        place = self.at + ahead
        return self.tokens[place][1] if place < len(self.tokens) else ""

    def kind(self):
        return self.tokens[self.at][0] if self.at < len(self.tokens) else "end"

    def line(self):
        return self.tokens[min(self.at, len(self.tokens) - 1)][2]

    def take(self, *wanted):
        word = self.peek()
        if wanted and word not in wanted:
            raise Wrong(f"line {self.line()}: {word!r} where one of {wanted} should be")
        self.at += 1
        return word

    def accept(self, word):
        if self.kind() != "string" and self.peek() == word:
            self.at += 1
            return True
        return False

    def starts(self, *words):
        return tuple(self.peek(i) for i in range(len(words))) == words

    def name(self):
        if self.kind() != "word" or self.peek() in KEYWORDS:
            raise Wrong(f"line {self.line()}: {self.peek()!r} is no name")
        return self.take()

    def string(self):
        if self.kind() != "string":
            raise Wrong(f"line {self.line()}: no string")
        return self.take()[1:-1]

    # Precedence climbing: `level` counts LEVELS from the loosest.
    def expression(self):
        if self.peek() == "if" and not self.is_call_of_if():
            self.take()
            condition = self.expression()
            self.take("then")
            first = self.expression()
            self.take("else")
            return ("if", condition, first, self.expression())
        return self.climb(0)

    def is_call_of_if(self):
        """Whether a parenthesis after `if` closes over two commas: if(c, a, b) and not if (c) then a else b."""
        depth = commas = 0
        if self.peek(1) != "(":
            return False
        for _, word, _ in self.tokens[self.at + 1:]:
            depth += (word == "(") - (word == ")")
            commas += word == "," and depth == 1
            if depth == 0:
                break
        return commas == 2

    def climb(self, level):
        if level == len(LEVELS):
            return self.unary()
        if LEVELS[level] == ("not",):
            if self.peek() in ("not", "!"):
                self.take()
                return ("not", self.climb(level))
            return self.climb(level + 1)
        left = self.climb(level + 1)
        while self.kind() in ("sign", "word") and SPELLING.get(self.peek(), self.peek()) in LEVELS[level]:
            sign = self.take()
            left = (SPELLING.get(sign, sign), left, self.climb(level + 1))
            if sign in LEVELS[3] and self.peek() in LEVELS[3]:
                raise Wrong(f"line {self.line()}: chained comparison")
        return left

    def unary(self):
        if self.accept("-"):
            return ("neg", self.unary())
        if self.accept("+"):
            return ("pos", self.unary())
        base = self.primary()
        if self.peek() in ("^", "**"):
            self.take()
            return ("^", base, self.unary())
        return base

    def primary(self):
        kind, word = self.kind(), self.take()
        if kind == "number":
            return ("number", float(word))
        if word == "(":
            inside = self.expression()
            self.take(")")
            return inside
        if kind != "word":
            raise Wrong(f"line {self.line()}: {word!r} in an expression")
        word = SPELLING.get(word, word)
        if self.accept("("):
            arguments = [self.expression()]
            while self.accept(","):
                arguments.append(self.expression())
            self.take(")")
            return ("if", *arguments) if word == "if" else ("call", word, arguments)
        return ("name", word)

    def attributes(self, **readers):
        """in, scale, unit, ... in any order, each once."""
        found = {}
        while self.peek() in readers and self.peek() not in found and self.kind() == "word":
            word = self.take()
            found[word] = readers[word](self)
        return found

    def bounds(self):
        self.take("[")
        lower = self.expression()
        self.take(",")
        upper = self.expression()
        self.take("]")
        return lower, upper

    def prior(self):
        kind = self.take()
        self.take("(")
        first = self.expression()
        self.take(",")
        second = self.expression()
        self.take(")")
        return kind, first, second, self.take() if self.accept("on") else "natural"

    def end(self):
        if self.at < len(self.tokens):
            raise Wrong(f"line {self.line()}: {self.peek()!r} after the statement")


class Model:
    """Everything a text says; expressions as tuples."""

    def __init__(self, text, file_name="model"):
        self.name, self.description, self.time_unit, self.t0 = file_name, None, None, ("number", 0.0)
        self.parameters = {}    # name: dict(start, in, scale, unit, prior)
        self.constants = {}     # name: expression
        self.covariates = []
        self.initials = {}      # state: expression
        self.rates = {}         # state: expression, in the order of the states
        self.intermediates = {}
        self.functions = {}     # name: (arguments, body)
        self.observables = {}   # name: dict(sd, unit, one of ERRORS)
        for tokens in statements(text):
            reader = Statement(tokens)
            self.read(reader)
            reader.end()

    def read(self, s):
        word = s.peek()
        known = {"model": self.read_model, "time": self.read_time, "parameter": self.read_parameters,
                 "par": self.read_parameters, "constant": self.read_constants, "const": self.read_constants,
                 "covariate": self.read_covariates, "init": self.read_init, "observe": self.read_observables,
                 "function": self.read_function}
        if word in known:
            s.take()
            known[word](s)
        elif s.starts("d", "/", "dt", "("):
            s.at = 4
            state = s.name()
            s.take(")")
            self.read_rate(s, state)
        elif s.peek(1) == "'":
            s.at = 2
            self.read_rate(s, word)
        elif word.startswith("d") and s.tokens[1:4] and s.starts(word, "/", "dt", "="):
            s.at = 3
            self.read_rate(s, word[1:])
        elif s.starts(word, "(", "0", ")"):
            s.at = 4
            s.take("=")
            self.put(self.initials, word, s.expression())
            s.attributes(unit=Statement.string)
        elif s.starts(word, "("):
            self.read_function(s)
        else:
            name = s.name()
            s.take("=")
            self.put(self.intermediates, name, s.expression())

    @staticmethod
    def put(where, name, what):
        if name in where:
            raise Wrong(f"{name} twice")
        where[name] = what

    def read_model(self, s):
        self.name = s.name()
        if s.kind() == "string":
            self.description = s.string()

    def read_time(self, s):
        found = s.attributes(unit=Statement.string, **{"from": Statement.expression})
        self.t0, self.time_unit = found.get("from", self.t0), found.get("unit")

    def read_list(self, s, read_one):
        read_one(s)
        while s.accept(","):
            read_one(s)

    def read_parameters(self, s):
        def one(s):
            name = s.name()
            s.take("=")
            start = s.expression()
            found = s.attributes(unit=Statement.string, scale=Statement.take, prior=Statement.prior,
                                 **{"in": Statement.bounds})
            self.put(self.parameters, name, {"start": start, **found})
        self.read_list(s, one)

    def read_constants(self, s):
        def one(s):
            name = s.name()
            s.take("=")
            self.put(self.constants, name, s.expression())
        self.read_list(s, one)

    def read_covariates(self, s):
        def one(s):
            self.covariates.append(s.name())
            s.attributes(unit=Statement.string)
        self.read_list(s, one)

    def read_init(self, s):
        def one(s):
            name = s.name()
            s.take("=")
            self.put(self.initials, name, s.expression())
            s.attributes(unit=Statement.string)
        self.read_list(s, one)

    def read_rate(self, s, state):
        s.take("=")
        self.put(self.rates, state, s.expression())

    def read_function(self, s):
        name = s.name()
        s.take("(")
        arguments = [s.name()]
        while s.accept(","):
            arguments.append(s.name())
        s.take(")")
        s.take("=")
        self.put(self.functions, name, (arguments, s.expression()))

    def read_observables(self, s):
        def one(s):
            name = s.name()
            if s.accept("="):
                self.put(self.intermediates, name, s.expression())
            kinds = {word: lambda s: True for word in ERRORS}
            self.put(self.observables, name, s.attributes(unit=Statement.string, sd=Statement.expression, **kinds))
        self.read_list(s, one)

    def value_of(self, name):
        """The expression that a name of an intermediate or constant stands for, or None."""
        return self.intermediates.get(name, self.constants.get(name))

    def leaves(self, expression, found=None):
        """Names of leaves (states, parameters, covariates, t) that an expression's text reaches, through everything."""
        found = set() if found is None else found
        todo, seen = [(expression, frozenset())], set()
        while todo:
            e, bound = todo.pop()
            if e[0] == "name":
                name = e[1]
                if name in bound or name in seen:
                    continue
                seen.add(name)
                value = self.value_of(name)
                if value is None:
                    found.add(name)
                else:
                    todo.append((value, frozenset()))
            elif e[0] == "call":
                todo += [(a, bound) for a in e[2]]
                if e[1] in self.functions and e[1] + "(" not in seen:
                    seen.add(e[1] + "(")
                    arguments, body = self.functions[e[1]]
                    todo.append((body, frozenset(arguments)))
            elif e[0] != "number":
                todo += [(a, bound) for a in e[1:]]
        return found - {"pi", "inf"}
