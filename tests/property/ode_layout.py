"""Prints expressions and statements of random models: with and without superfluous parentheses, in every spelling, with
odd blanks, comments, continuations and line ends. Apart from ode_random because it knows precedence, but no models.

SPDX-License-Identifier: BSD-3-Clause
"""
COMMENTS = ("", " plain", " */ int main(void){return 1;} /*", " ??/", " é µ 日本", " \\", " \"open", " (((",
            " #define x y", "//")
BLANKS = ("", "", "", " ", " ", "  ", "\t")
# The level that an operator's result has, and those that its operands need at least.
IF, OR, AND, NOT, COMPARE, ADD, MULTIPLY, UNARY, POWER, ATOM = range(10)
OPERATORS = {"or": (OR, OR, AND), "and": (AND, AND, NOT), "not": (NOT, NOT), "neg": (UNARY, UNARY),
             "pos": (UNARY, UNARY), "^": (POWER, ATOM, UNARY)}
OPERATORS |= dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), (COMPARE, ADD, ADD))
OPERATORS |= dict.fromkeys("+-", (ADD, ADD, MULTIPLY)) | dict.fromkeys("*/", (MULTIPLY, MULTIPLY, UNARY))
SPELLINGS = {"^": ("^", "**"), "and": ("and", "&&"), "or": ("or", "||"), "not": ("not", "!"), "neg": ("-",),
             "pos": ("+",), "log": ("log", "ln"), "t": ("t", "time")}


class Layout:
    """Tokens of expressions, and text of tokens."""

    def __init__(self, rng):
        self.rng = rng
        self.superfluous = rng.choice([0, 0, 0.1, 0.4])
        self.sober = rng.random() < 0.3  # plain blanks, no surprises
        self.line_end = "\r\n" if rng.random() < 0.1 else "\n"

    def spelled(self, word):
        return self.rng.choice(SPELLINGS.get(word, (word,)))

    def number(self, value):
        rng = self.rng
        plain = repr(value)
        forms = [plain, f"{value:.17g}", f"{value:.17e}", f"{value:.17E}"]
        if value == int(value) and value < 1e6:
            forms += [f"{int(value)}", f"{int(value)}.", f"{int(value)}e0", f"{int(value)}.E+0", f"00{int(value)}"] * 2
        elif value < 1 and plain.startswith("0."):
            forms += [plain[1:]] * 3
        return rng.choice(forms)

    def expression(self, e, level=IF):
        tokens, own = self.bare(e)
        while own < level or self.rng.random() < self.superfluous * 0.5:
            tokens, own = ["(", *tokens, ")"], ATOM
        return tokens

    def list_of(self, arguments):
        return sum(([",", *self.expression(a)] for a in arguments), [])[1:]

    def bare(self, e):
        if e[0] == "number":
            return [self.number(e[1])], ATOM
        if e[0] == "name":
            return [self.spelled(e[1])], ATOM
        if e[0] == "call":
            return [self.spelled(e[1]), "(", *self.list_of(e[2]), ")"], ATOM
        if e[0] == "if":
            if self.rng.random() < 0.5:
                return ["if", "(", *self.list_of(e[1:]), ")"], ATOM
            return ["if", *self.expression(e[1], OR), "then", *self.expression(e[2]), "else",
                    *self.expression(e[3])], IF
        own, *needed = OPERATORS[e[0]]
        sign = self.spelled(e[0])
        if len(e) == 2:
            return [sign, *self.expression(e[1], needed[0])], own
        return [*self.expression(e[1], needed[0]), sign, *self.expression(e[2], needed[1])], own

    def comment(self):
        return self.rng.choice("#/").replace("/", "//") + self.rng.choice(COMMENTS)

    def between(self, depth):
        """What stands between two tokens."""
        rng = self.rng
        if self.sober:
            return " "
        chance = rng.random()
        if chance < 0.01 and depth:
            return rng.choice(["", " " + self.comment()]) + self.line_end + rng.choice(["", "   "])
        if chance < 0.02:
            return " \\" + rng.choice(["", " ", " " + self.comment()]) + self.line_end + rng.choice(["", "  "])
        return rng.choice(BLANKS)

    def statement(self, tokens):
        text, depth = tokens[0], 0
        for before, token in zip(tokens, tokens[1:]):
            depth += (before in ("(", "[")) - (before in (")", "]"))
            gap = self.between(depth)
            if not gap and (joins(before[-1]) and joins(token[0]) or before[-1] + token[0] in ("//", "**", "!=", "==")):
                gap = " "
            text += gap + token
        return text

    def lay_out(self, statements):
        rng = self.rng
        text = "\ufeff" if rng.random() < 0.05 else ""
        for i, tokens in enumerate(statements):
            text += "" if self.sober else rng.choice(["", "", "", "  ", "\t", self.line_end, self.comment()
                                                      + self.line_end])
            text += self.statement(tokens)
            is_last = i + 1 == len(statements)
            if not is_last and rng.random() < 0.15:
                text += rng.choice([";", " ; ", ";;"])
            elif not is_last or rng.random() < 0.8:
                text += rng.choice(["", "", ";", " ", "  " + self.comment()]) + self.line_end
        return text


def joins(character):
    """Whether two of these side by side would be one token."""
    return character.isalnum() or character in "_."
