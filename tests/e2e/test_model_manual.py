"""The language's manual page: each example is built, each message is what the program says, its lists of words and functions
are the program's own, and what its grammar makes is read.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import random
import re

import helpers as h

h.compile_as_users_do()

PAGE = h.ROOT / "man/stiffit-model.5"
# What man(7) has for signs that a reader should be able to copy.
SIGNS = {r"\(aq": "'", r"\(ha": "^", r"\(ti": "~", r"\(ga": "`", r"\e": "\\", r"\&": ""}


def plain(text):
    for escape, sign in SIGNS.items():
        text = text.replace(escape, sign)
    return text


def displays(page=PAGE, kinds="example|fails|shell|grammar|reserved"):
    """(kind, its text, heading), in the order of the page: the comment above a literal display says what it is."""
    lines = page.read_text().splitlines()
    found, heading = [], ""
    for number, line in enumerate(lines):
        heading = line[4:] if line.startswith(".Ss ") else heading
        if not line.startswith(".Bd -literal"):
            continue
        above = re.fullmatch(rf'\.\\" ({kinds})( \+ (.*))?', lines[number - 1])
        assert above, f"{page.name}:{number + 1}: no comment above this display says what it is"
        end = lines.index(".Ed", number)
        text = plain("\n".join(lines[number + 1:end])) + "\n"
        found.append((above[1], text + (above[3] or "") + "\n", heading))
    return found


def of_kind(kind):
    return [text for which, text, _ in displays() if which == kind]


def write_model(tmp, text, name="model.ode"):
    path = tmp / name
    path.write_text(text)
    return path


def test_every_example_is_a_model(tmp):
    examples = of_kind("example")
    assert len(examples) >= 16
    for text in examples:
        done = h.stiffit("model", "show", write_model(tmp, text), "--equations", code=None)
        assert done.returncode == 0, f"{text}\n{done.stderr}"


@h.both
def test_whole_examples_build_and_pass_the_check(tmp):
    whole = [text for text in of_kind("example") if "parameter" in text and "observe" in text]
    assert len(whole) >= 4
    for i, text in h.portion(enumerate(whole), 2):
        path = write_model(tmp, text, f"whole{i}.ode")
        h.stiffit("model", "build", path, "--portable")
        h.stiffit("model", "check", path.with_suffix(".so"))


def test_examples_of_faults_fail_as_the_page_says(tmp):
    faults = of_kind("fails")
    assert faults
    for text in faults:
        model, message = re.fullmatch(r"(.*?)^=> (.*?)\n\n*", text, re.S | re.M).groups()
        done = h.stiffit("model", "show", write_model(tmp, model), code=3)
        assert message in done.stderr, done.stderr


def test_grammar_is_closed(tmp):
    """Every word of the grammar that is not in quotes is defined in it, and the other way round."""
    grammar, = of_kind("grammar")
    defined = set(re.findall(r"^(\w+) +=", grammar, re.M))
    rules = re.sub(r'"[^"\n]*"|\'"\'', " ", re.sub(r"\(no blank[^)]*\)", "", grammar))
    rules = re.sub(r"anything up to the end of the line|any characters but|and the end of the line|"
                   r"of numbers and constants", " ", rules)
    used = set(re.findall(r"[a-z]+", re.sub(r"^\w+ +=", "", rules, flags=re.M)))
    assert used - defined == {"letter", "digit", "digits"}, used - defined
    assert defined - used == {"text"}, defined - used


class Sentences:
    """Random sentences of the page's grammar. A rule is parsed into nested tuples: (kind, parts)."""

    LEAVES = {"name": ["a", "b", "y", "Km"], "number": ["1", "2.", ".5", "1.5e-3", "1E2"], "label": ['"mg/L"'],
              "constant": ["1", "-2*pi", "(3 + 4)/2"]}

    def __init__(self, grammar, seed):
        self.random = random.Random(seed)
        self.rules = {name: re.findall(r'"[^"]*"|[\[\]{}()|]|[a-z]+', re.sub(r"\(no blank[^)]*\)", "", rule))
                      for name, rule in re.findall(r"^(\w+) += (.*?) \.$", grammar, re.M | re.S)}

    def alternatives(self, tokens):
        """Consumes tokens up to a closing bracket; a list of sequences."""
        found = [[]]
        while tokens and tokens[0] not in "]})":
            token = tokens.pop(0)
            if token == "|":
                found.append([])
            elif token in "[{(":
                found[-1].append((token, self.alternatives(tokens)))
                tokens.pop(0)
            else:
                found[-1].append(token)
        return found

    def choose(self, alternatives, depth):
        return " ".join(filter(None, (self.make(part, depth) for part in self.random.choice(alternatives))))

    def make(self, part, depth):
        if isinstance(part, tuple):
            times = {"[": self.random.randint(0, 1), "(": 1, "{": self.random.choice([0, 0, 1, 2])}[part[0]]
            if part[0] != "(" and depth <= 0:
                times = 0
            return " ".join(self.choose(part[1], depth - 1) for _ in range(times))
        if part.startswith('"'):
            return part[1:-1]
        return self.of(part, depth)

    def of(self, rule, depth):
        if rule in self.LEAVES:
            return self.random.choice(self.LEAVES[rule])
        if rule == "call":
            name, n = self.random.choice([("exp", 1), ("pow", 2), ("if", 3), ("piecewise", 5), ("max", 3), ("f", 2)])
            return f"{name}({', '.join(self.of('expression', depth - 3) for _ in range(n))})"
        if rule in ("primary", "not", "sign", "expression") and depth <= 0:  # down to a leaf
            return self.random.choice(self.LEAVES["name"])
        return self.choose(self.alternatives(list(self.rules[rule])), depth - 1)


@h.both
def test_sentences_of_the_grammar_are_read(tmp):
    """300 random expressions and 240 other statements. They may be nonsense (a name that is there already, a parameter
    outside its bounds), but nothing in them is unexpected."""
    grammar, = of_kind("grammar")
    sentences = Sentences(grammar, seed=1)
    head = "parameter a = 1, b = 2, Km = 3\ny(0) = 1\ny' = -a*y\nf(p, q) = p + q\n"
    expressions = [sentences.of("expression", 14) for _ in range(300)]
    assert sum(map(len, expressions)) > 10000 and all(f" {word} " in " ".join(expressions)
                                                      for word in ["then", "and", "||", "**", "!=", "not"])
    names = [f"e{i}" for i in range(len(expressions))]
    text = head + "".join(f"{n} = {e}\n" for n, e in zip(names, expressions)) + "observe " + ", ".join(names) + "\n"
    done = h.stiffit("model", "show", write_model(tmp, text), "--json", code=(0, 3))
    errors = [line for line in done.stderr.splitlines() if ": error: " in line]
    assert all("finite" in line for line in errors), errors[:3]
    seen = set()
    for _ in range(40 if h.QUICK else 240):
        statement = re.sub(r"^d (\w+) / dt =", r"d\1/dt =", sentences.of("statement", 9))
        seen.add(statement.split()[0])
        done = h.stiffit("model", "show", write_model(tmp, head + statement + "\nobserve y\n"), "--json", code=(0, 3))
        for word in ("expected", "begins no statement", "does not belong"):
            assert word not in done.stderr, (statement, done.stderr)
    kinds = {"model", "time", "parameter", "par", "constant", "covariate", "init", "function", "observe", "d", "y"}
    assert h.QUICK or seen >= kinds


def words_of_the_program():
    """{word: "word" or "function"}"""
    return dict(line.split() for line in h.stiffit("help", "--model-words").stdout.splitlines())


def test_words_and_functions_are_the_programs(tmp):
    words = words_of_the_program()
    reserved, = of_kind("reserved")
    assert sorted(reserved.split()) == sorted(words), set(reserved.split()) ^ set(words)
    described = set()
    for line in re.findall(r"^\.It Ic (.*)$", PAGE.read_text(), re.M):
        described |= set(re.findall(r"(\w+)\(", line))
    functions = {word for word, kind in words.items() if kind == "function"}
    assert described == functions - {"piecewise"}, described ^ functions
    for word in words:  # and each is really reserved
        text = f"parameter {word} = 1\nobserve y = 1\n"
        assert "word of the language" in h.stiffit("model", "show", write_model(tmp, text), code=3).stderr, word


def test_every_function_can_be_called_as_described(tmp):
    lines = re.findall(r"^\.It Ic (.*\(.*)$", PAGE.read_text(), re.M)
    calls = re.findall(r"\w+\([^)]*\)", " ".join(lines))
    assert len(calls) >= 30
    text = "".join(f"observe z{i} = {call.replace(', ...', '' if 'x2' in call else ', x')}\n" for i, call in enumerate(calls))
    text += "parameter a = 2, b = 3, x = 0.5, y = 0.25\nconstant x1 = 0, x2 = 1, y1 = 2, y2 = 3\n"
    h.stiffit("model", "show", write_model(tmp, text))


def test_the_same_as_elsewhere(tmp):
    """What the page says is the same in other programs, in their words."""
    here = {
        "XPPAUT": "par k=1\nx'=-k*x\ndy/dt=x\ninit x=1\ny(0)=1\nf(a,b)=a+b\nw=if(x>0)then(1)else(0)\nobserve v=f(x,y)*w\n",
        "rxode2": "par k=1\nd/dt(x) = -k*x\nx(0) = 1\nobserve x\n",
        "Antimony": "par a=1, b=2, c=0\nx' = -x  // comment\nx(0) = 1\nz = piecewise(a, c, b)\n"
                    "observe x, w = (a && b || !a) + z\n",
        "Madonna": "par k=1\ntime from 0\nd/dt(x) = -k*x\nz' = time\ninit x = 1\ninit z = 0\nobserve x, z\n",
    }
    for name, text in here.items():
        assert f".Ss {name}" in PAGE.read_text() or name == "Madonna"
        done = h.stiffit("model", "show", write_model(tmp, text), "--equations", code=None)
        assert done.returncode == 0, (name, done.stderr)


def test_shell_examples_run(tmp):
    """The command lines of the page, with the first example as the model."""
    write_model(tmp, of_kind("example")[0], "elimination.ode")
    times, ids = [1, 2, 4, 8, 12, 24], ["a", "b"]
    (tmp / "doses.csv").write_text("dataset,time,observable,value\n" + "".join(
        f"{i},{t},conc,{2 * 0.9 ** t + 0.01}\n" for i in ids for t in times))
    (tmp / "subjects.csv").write_text("dataset,dose\n" + "".join(f"{i},30\n" for i in ids))
    commands = [line for text in of_kind("shell") for line in text.splitlines() if line]
    assert len(commands) == 2
    for command in commands:
        words = command.split()
        assert words[0] == "stiffit"
        h.stiffit(*words[1:], cwd=tmp, code=(0, 1))
    assert len(h.read_fits(tmp / "doses.result.h5")["id"]) == 2


def test_statements_about_simplification_hold(tmp):
    """Zero times anything is 0, like terms are put together, x/x is left alone."""
    text = ("parameter x = 1, y = 2\n"
            "observe a = 0*log(x), b = x - x, c = 2*x + 3*x, d = 2*(3*x), e = x/x, f = x^0, g = (x + 0)*1, h = x/4,"
            " i = x^2.5, j = x^0.5, k = x^17, l = 0/x\n")
    shown = h.stiffit("model", "show", write_model(tmp, text), "--equations").stdout
    found = dict(re.findall(r"^observe (\w) = (.*)$", shown, re.M))
    assert found == {"a": "0", "b": "0", "c": "5*x", "d": "6*x", "e": "x/x", "f": "1", "g": "x", "h": "0.25*x",
                     "i": "x^2.5", "j": "sqrt(x)", "k": "x^17", "l": "0"}, found


def observed(tmp, statements, names):
    """What `model show` says of these observables."""
    text = "parameter x = 1, y = 2, z = 3\n" + statements + "\nobserve " + ", ".join(names) + "\n"
    shown = json.loads(h.stiffit("model", "show", write_model(tmp, text), "--json").stdout)
    return [o["value"] for o in shown["observables"]]


def test_statements_about_expressions_hold(tmp):
    """What binds how; comparisons give 1 or 0; a text goes on where the page says."""
    values = observed(tmp, "a = -2^2; b = 2^-3^2; c = (3 > 2) + (2 >= 2) + (1 == 2); d = not 5; e = 2 - 3 - 4; f = 2/4/4\n"
                      "g = -2*3; i = if 0.5 then 7 else 8; j = piecewise(1, 0, 2, 1, 3, 1, 4); k = heaviside(0) + sign(0)\n"
                      "l = 7 \\ # on\n  + 1; m = (1 +\n 2); n = ln(1) + log10(100) + log2(8)", list("abcdefgijklmn"))
    assert list(map(float, values)) == [-4, 2 ** -9, 2, 0, -5, 0.125, -6, 7, 2, 1, 8, 3, 5], values
    bad = write_model(tmp, "parameter a = 1, b = 2, c = 3\nobserve h = a < b < c\n")
    assert "a < b and b < c" in h.stiffit("model", "show", bad, code=3).stderr.replace("`", "")


def test_statements_about_statements_hold(tmp):
    """Order, names, initial time, warnings."""
    model = ("observe y, y2 = 2*y\ny' = -k*y\ny(0) = 1 + t   # \u00b5 in a comment\ntime from 3 unit \"\u00b5s\"\n"
             "parameter k = 2*c\nconstant c = 4\nX = 1; x = 2\nobserve z = X + x\n").replace("\n", "\r\n")
    shown = json.loads(h.stiffit("model", "show", write_model(tmp, model, "my-model 1.ode"), "--json").stdout)
    assert shown["model"] == "my_model_1" and shown["t0"] == 3 and shown["time_unit"] == "\u00b5s"
    assert shown["parameters"][0]["start"] == 8 and shown["states"][0]["initial"] == "1 + t"
    assert [o["name"] for o in shown["observables"]] == ["y", "y2", "z"] and shown["observables"][2]["value"] == "3"
    faults = {"y' = 1\nobserve y\nparameter k = 1": "no initial value", "parameter k = 1\ny(0) = 1\nobserve k": "no derivative",
              "a = b; b = a\nparameter k = 1\nobserve a": "needs", "parameter k = 1\nk = 2\nobserve k": "defined twice",
              "parameter k = 1 scale log in [-1, 2]\nobserve k": "below 0",
              "parameter k = 1 in [3, 2]\nobserve k": "hold no value",
              "parameter k = 1\nf(x) = f(x)\nobserve h = f(k)": "`f`", "observe y = 1": "no parameter",
              "parameter k = 1": "nothing is observed"}
    for text, message in faults.items():
        assert message in h.stiffit("model", "show", write_model(tmp, text + "\n"), code=3).stderr, (text, message)
    warned = "y(0) = 1; y' = -{}\nparameter k = 1\nobserve y\n"
    for word in ["(y == 1)*k", "piecewise(k, y != 1, 2)", "abs(y)*k", "min(y, k)", "max(y, t)"]:
        assert ": warning: " in h.stiffit("model", "show", write_model(tmp, warned.format(word))).stderr, word
    for word in ["(k > 1)*k", "exp(t)*k", "(t > 1)*k", "floor(t)*k", "max(t, k)",  # known times, or no jump
                 "(t > k)*k", "(y > 1)*k", "piecewise(k, y < 1, 2)", "sign(y)*k", "floor(k*t)", "ceil(y)*k", "heaviside(y)*k"]:
        assert "warning" not in h.stiffit("model", "show", write_model(tmp, warned.format(word))).stderr, word


if __name__ == "__main__":
    h.main()
