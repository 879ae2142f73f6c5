#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of formulas are whole, and doc/models.md is what they say."""
from formulapage import PAGE, page, problems
from tap import run


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def test_the_tables_name_everything(t):
    assert not problems(), "\n".join(["", *problems()])


def test_the_page_is_what_the_headers_tell(t):
    assert text_of(PAGE) == page(text_of(PAGE)), "doc/models.md is old: tests/support/formulapage.py writes it"


run(globals())
