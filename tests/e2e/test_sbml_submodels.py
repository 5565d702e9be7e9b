"""SBML models that are put together from others (package comp): closed forms of the whole.

SPDX-License-Identifier: BSD-3-Clause
"""
import math

import helpers as h
from sbml_text import compartment, parameter, reaction, sbml, species
from test_sbml import K, agree, import_text, refuse

ROOT = ' xmlns:comp="http://www.sbml.org/sbml/level3/version1/comp/version1" comp:required="true"'


def model_of(*elements):
    """The lists of a model."""
    text = sbml(*elements)
    return text[text.index("\n", text.index("<model")):text.index("</model>")]


def part(id, model, inside=""):
    return f'<comp:submodel comp:id="{id}" comp:modelRef="{model}"{f">{inside}</comp:submodel>" if inside else "/>"}'


def whole(parts, *elements, definitions="", inside=""):
    """A model with submodels, and the definitions of models."""
    text = sbml(*elements, root=ROOT).replace(
        "</model>", f"{inside}<comp:listOfSubmodels>{parts}</comp:listOfSubmodels></model>")
    return text.replace("</sbml>", f"{definitions}</sbml>")


def definition(id, *elements, inside=""):
    return f'<comp:modelDefinition id="{id}">{model_of(*elements)}{inside}</comp:modelDefinition>'


def definitions(*texts):
    return f"<comp:listOfModelDefinitions>{''.join(texts)}</comp:listOfModelDefinitions>"


DECAY = (compartment("c", 2), K, species("S", conc=3), reaction("v", "S ->", "k*S*c"))


def decays(k, start=3):
    return lambda t: start*math.exp(-k*t)


def test_two_of_a_kind(tmp):
    """Each has its own names; a parameter of the whole replaces that of one of them."""
    replaces = ('<parameter id="k" value="0.3" constant="true"><comp:listOfReplacedElements><comp:replacedElement '
                'comp:idRef="k" comp:submodelRef="B"/></comp:listOfReplacedElements></parameter>')
    text = whole(part("A", "decay") + part("B", "decay"), ("Parameters", replaces),
                 definitions=definitions(definition("decay", *DECAY)))
    agree(tmp, text, {"A__S": decays(0.8), "B__S": decays(0.3)})
    agree(tmp, text, {"A__S": decays(0.8), "B__S": decays(0.1)}, settings=["k=0.1"])
    _, ode = import_text(tmp, text, "--estimate", "A__k")
    assert "parameter A__k = 0.8" in ode and "constant k = 0.3" in ode, ode


def test_submodels_of_submodels_deletions_and_factors(tmp):
    inner = definition("decay", *DECAY)
    outer = definition("pair", parameter("q", 1), inside=(
        "<comp:listOfSubmodels>" + part("one", "decay") + "</comp:listOfSubmodels>"))
    agree(tmp, whole(part("A", "pair"), K, definitions=definitions(inner, outer)), {"A__one__S": decays(0.8)})
    # Without its reaction the species stays.
    deletion = '<comp:listOfDeletions><comp:deletion comp:idRef="v"/></comp:listOfDeletions>'
    agree(tmp, whole(part("A", "decay", deletion) + part("B", "decay"), K, definitions=definitions(inner)),
          {"A__S": lambda t: 3, "B__S": decays(0.8)})
    # The submodel's time runs in minutes, that of the whole in seconds.
    slow = part("A", "decay").replace("/>", ' comp:timeConversionFactor="f"/>')
    agree(tmp, whole(slow, parameter("f", 60), definitions=definitions(inner)), {"A__S": decays(0.8/60)},
          times=[0, 60, 100])


def test_models_of_other_files(tmp):
    """They lie in the folder of the file, or below; others are not read."""
    outside = tmp / "outside.xml"
    inside = tmp / "folder"
    inside.mkdir()
    for path in (outside, inside / "part.xml"):
        path.write_text(sbml(*DECAY))
    external = ('<comp:listOfExternalModelDefinitions><comp:externalModelDefinition comp:id="decay" comp:source="{}"/>'
                "</comp:listOfExternalModelDefinitions>")

    def text(source):
        return whole(part("A", "decay"), K, definitions=external.format(source))
    agree(inside, text("part.xml"), {"A__S": decays(0.8)})
    (inside / "more").mkdir()
    (inside / "more" / "chain.xml").write_text(text("inner.xml").replace('id="the_model"', 'id="chain"'))
    (inside / "more" / "inner.xml").write_text(sbml(*DECAY))
    agree(inside, text("more/chain.xml"), {"A__A__S": decays(0.8)})
    (inside / "m.xml").write_text(text("more/chain.xml"))
    inner = (inside / "more" / "inner.xml").read_bytes()
    for output in ("m.xml", "more/chain.xml", "more/inner.xml"):  # what is read is not replaced
        done = h.stiffit("import", "m.xml", "--overwrite", "-o", output, cwd=inside, code=(2, 4))
        assert "kept" in done.stderr and (inside / "more" / "inner.xml").read_bytes() == inner, done.stderr
    (inside / "link.xml").symlink_to(outside)
    for source in ("../outside.xml", str(outside), "link.xml", "&#46;./outside.xml"):
        refuse(inside, text(source), f"outside.xml" if "link" not in source else "link.xml",
               "outside of the folder of m.xml and is not read: put a copy beside it")
    for source in ("nothing.xml", "http://example.org/part.xml", ""):
        refuse(inside, text(source), "external model", "m.xml")
    (inside / "circle.xml").write_text(text("m.xml"))
    refuse(inside, text("circle.xml"), "m.xml")
    (inside / "broken.xml").write_text("<sbml")
    refuse(inside, text("broken.xml"), "m.xml")


def test_what_cannot_be_put_together(tmp):
    inner = definition("decay", *DECAY)
    refuse(tmp, whole(part("A", "missing"), K, definitions=definitions(inner)), "m.xml", "missing")
    self = definition("loop", K, inside="<comp:listOfSubmodels>" + part("A", "loop") + "</comp:listOfSubmodels>")
    refuse(tmp, whole(part("A", "loop"), K, definitions=definitions(self)), "m.xml")
    deletion = '<comp:listOfDeletions><comp:deletion comp:idRef="nothing"/></comp:listOfDeletions>'
    refuse(tmp, whole(part("A", "decay", deletion), K, definitions=definitions(inner)), "m.xml", "nothing")
    # A reaction that another submodel's deletion leaves without its law.
    refuse(tmp, whole(part("A", "decay"), K, definitions=definitions(definition(
        "decay", *DECAY[:3], ("Reactions", '<reaction id="v" reversible="false"/>')))), "reaction `A__v`", "kinetic law")


if __name__ == "__main__":
    h.main()
