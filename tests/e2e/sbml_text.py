"""SBML files for the tests, from a few words: formulas are Python expressions, elements are functions.

SPDX-License-Identifier: BSD-3-Clause
"""
import ast

WORDS = {"ceil": "ceiling", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
         "atanh": "arctanh"}
BUILT_IN = ("abs exp ln floor ceiling factorial sin cos tan sec csc cot sinh cosh tanh sech csch coth arcsin arccos arctan "
            "arcsec arccsc arccot arcsinh arccosh arctanh arcsech arccsch arccoth xor implies min max quotient rem").split()
OPERATORS = {ast.Add: "plus", ast.Sub: "minus", ast.Mult: "times", ast.Div: "divide", ast.Pow: "power", ast.USub: "minus",
             ast.Not: "not", ast.And: "and", ast.Or: "or", ast.Lt: "lt", ast.LtE: "leq", ast.Gt: "gt", ast.GtE: "geq",
             ast.Eq: "eq", ast.NotEq: "neq"}
CONSTANTS = {"pi": "<pi/>", "exponentiale": "<exponentiale/>", "true": "<true/>", "false": "<false/>",
             "infinity": "<infinity/>", "notanumber": "<notanumber/>"}
SYMBOL = '<csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/{0}">{0}</csymbol>'


def apply(head, *operands):
    return f"<apply>{head}{''.join(map(mathml, operands))}</apply>"


def mathml(node):
    """The MathML of an expression, without <math>."""
    if isinstance(node, str):
        node = ast.parse(node.strip(), mode="eval").body
    if isinstance(node, ast.Constant):
        return f"<cn> {node.value!r} </cn>"
    if isinstance(node, ast.Name):
        if node.id in ("time", "avogadro"):
            return SYMBOL.format(node.id)
        return CONSTANTS.get(node.id, f"<ci> {node.id} </ci>")
    if isinstance(node, ast.BinOp):
        return apply(f"<{OPERATORS[type(node.op)]}/>", node.left, node.right)
    if isinstance(node, ast.UnaryOp):
        return apply(f"<{OPERATORS[type(node.op)]}/>", node.operand)
    if isinstance(node, ast.BoolOp):
        return apply(f"<{OPERATORS[type(node.op)]}/>", *node.values)
    if isinstance(node, ast.Compare):
        assert len({type(op) for op in node.ops}) == 1
        return apply(f"<{OPERATORS[type(node.ops[0])]}/>", node.left, *node.comparators)
    name, arguments = WORDS.get(node.func.id, node.func.id), node.args
    if name == "piecewise":  # value, condition, ..., perhaps otherwise
        pieces = "".join(f"<piece>{mathml(arguments[k])}{mathml(arguments[k + 1])}</piece>"
                         for k in range(0, len(arguments) - 1, 2))
        otherwise = f"<otherwise>{mathml(arguments[-1])}</otherwise>" if len(arguments) % 2 else ""
        return f"<piecewise>{pieces}{otherwise}</piecewise>"
    if name in ("root", "log") and len(arguments) == 2:  # degree or base first
        what = "degree" if name == "root" else "logbase"
        return f"<apply><{name}/><{what}>{mathml(arguments[0])}</{what}>{mathml(arguments[1])}</apply>"
    if name in ("plus", "times", "and_", "or_", "root", "log"):
        return apply(f"<{name.rstrip('_')}/>", *arguments)
    if name in ("delay", "rateOf"):
        return apply(SYMBOL.format(name), *arguments)
    return apply(f"<{name}/>" if name in BUILT_IN else f"<ci> {name} </ci>", *arguments)


def math(text):
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{mathml(text)}</math>'


def attributes(**values):
    return "".join(f' {name}="{str(value).lower() if isinstance(value, bool) else value}"'
                   for name, value in values.items() if value is not None)


def compartment(id, size=1, constant=True, dimensions=3):
    return "Compartments", f"<compartment{attributes(id=id, size=size, spatialDimensions=dimensions, constant=constant)}/>"


def species(id, where="c", conc=None, amount=None, substance=False, boundary=False, constant=False, factor=None):
    return "Species", "<species" + attributes(
        id=id, compartment=where, initialConcentration=conc, initialAmount=amount, hasOnlySubstanceUnits=substance,
        boundaryCondition=boundary, constant=constant, conversionFactor=factor) + "/>"


def parameter(id, value=None, constant=True):
    return "Parameters", f"<parameter{attributes(id=id, value=value, constant=constant)}/>"


def reaction(id, equation, law, local=None, level=3, more=""):
    """equation: "2 A + n:B -> C"; n: a named reference without a number, 2n: one with it."""
    def references(text):
        made = ""
        for part in filter(None, map(str.strip, text.split("+"))):
            name, _, rest = part.rpartition(":")
            number, _, what = rest.strip().rpartition(" ")
            made += "<speciesReference" + attributes(
                id=name or None, species=what, stoichiometry=number or (None if name else 1),
                constant=(not name) if level > 2 else None) + "/>"
        return made
    left, right = equation.split("->")
    kind = ("localParameter", "listOfLocalParameters") if level > 2 else ("parameter", "listOfParameters")
    listed = "".join(f"<{kind[0]}{attributes(id=name, value=value)}/>" for name, value in (local or {}).items())
    sides = "".join(f"<listOf{what}>{references(side)}</listOf{what}>"
                    for what, side in (("Reactants", left), ("Products", right)) if side.strip())
    # Other species in the law.
    used = {n.id for n in ast.walk(ast.parse(law.strip(), mode="eval")) if isinstance(n, ast.Name)}
    modifiers = "".join(f'<modifierSpeciesReference species="{m}"/>' for m in more.split() if m in used)
    modifiers = f"<listOfModifiers>{modifiers}</listOfModifiers>" if modifiers else ""
    listed = f"<{kind[1]}>{listed}</{kind[1]}>" if listed else ""
    return "Reactions", (f'<reaction id="{id}" reversible="false">{sides}{modifiers}<kineticLaw>{math(law)}{listed}'
                         "</kineticLaw></reaction>")


def function(id, arguments, body):
    bound = "".join(f"<bvar><ci> {a} </ci></bvar>" for a in arguments.split())
    return "FunctionDefinitions", (f'<functionDefinition id="{id}"><math xmlns="http://www.w3.org/1998/Math/MathML"><lambda>'
                                   f"{bound}{mathml(body)}</lambda></math></functionDefinition>")


def assign(id, formula):
    return "Rules", f'<assignmentRule variable="{id}">{math(formula)}</assignmentRule>'


def rate(id, formula):
    return "Rules", f'<rateRule variable="{id}">{math(formula)}</rateRule>'


def initial(id, formula):
    return "InitialAssignments", f'<initialAssignment symbol="{id}">{math(formula)}</initialAssignment>'


def event(id, trigger, assignments, delay=None, priority=None, starts=True, persistent=True, early=True, level=3):
    words = attributes(initialValue=starts, persistent=persistent) if level > 2 else ""
    parts = f"<trigger{words}>{math(trigger)}</trigger>"
    parts += f"<priority>{math(priority)}</priority>" if priority else ""
    parts = parts if not delay else parts + f"<delay>{math(delay)}</delay>"
    parts += "<listOfEventAssignments>" + "".join(
        f'<eventAssignment variable="{name}">{math(value)}</eventAssignment>' for name, value in assignments.items())
    return "Events", f'<event{attributes(id=id, useValuesFromTriggerTime=early)}>{parts}</listOfEventAssignments></event>'


ORDER = ("FunctionDefinitions UnitDefinitions Compartments Species Parameters InitialAssignments Rules Constraints Reactions "
         "Events").split()


def sbml(*elements, level=3, version=2, root="", model=""):
    """The file's text."""
    lists = {name: [text for of, text in elements if of == name] for name in ORDER}
    body = "\n".join(f"<listOf{name}>\n{chr(10).join(texts)}\n</listOf{name}>" for name, texts in lists.items() if texts)
    space = (f"http://www.sbml.org/sbml/level{level}/version{version}/core" if level > 2
             else f"http://www.sbml.org/sbml/level2/version{version}")
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<sbml xmlns="{space}" level="{level}" version="{version}"{root}>\n'
            f'<model id="the_model"{model}>\n{body}\n</model>\n</sbml>\n')
