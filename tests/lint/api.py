#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of the API is whole, and doc/api.md is what it says."""
from apipage import PAGE, entries, page
from tap import run

told, untold = entries()
cells = [e for e in told if not e["trainer"]]


def named(bad):
    return "\n".join(["", *sorted(bad)])


def test_every_public_function_is_told(t):
    assert not untold, named(untold)


def test_everything_told_is_there(t):
    bad = [e["name"] for e in told if not e["there"] and e["kind"] != "type"]
    assert len(told) > 100 and not bad, named(bad)


def test_every_function_has_words_and_an_example(t):
    bad = [f"{e['name']}: no {key}" for e in told for key in ("words", "example") if e["kind"] == "function" and not e.get(key)]
    assert not bad, named(bad)


def test_every_option_has_words_and_a_known_type(t):
    kinds = {"any", "string", "number", "integer", "boolean", "table", "list", "function", "duration"}
    bad = [f"{e['name']}: {o['name']}" for e in cells for o in e["options"] if not o.get("words")]
    bad += [f"{e['name']}: {o['name']} is a {o['kind']}" for e in told for o in e["options"] if set(o["kind"].split("|")) - kinds]
    assert not bad, named(bad)


def test_layers_and_optimizers_have_formulas_and_sources(t):
    found = {e["name"]: (e.get("formula") or "", e.get("source") or "") for e in told}
    assert found["nn.Dense"][0].startswith("f(x·W + b)") and found["nn.Dense"][1] == "Glorot & Bengio 2010", found["nn.Dense"]
    assert "√(v + ε)" in found["nn.RMSprop"][0] and found["nn.Huber"][1] == "Huber 1964", found["nn.Huber"]
    assert found["nn.Flatten"] == ("(n, d1, d2, …) → (n, d1·d2·…)", "Keras 3"), found["nn.Flatten"]


def test_the_page_is_what_the_functions_tell(t):
    with open(PAGE, encoding="utf-8") as f:
        assert f.read() == page(told), "doc/api.md is old: tests/support/apipage.py writes it"


run(globals())
