#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures below cells, on terminals that know kitty's protocol (with placeholders or without), sixels, iTerm2's, or none."""
import base64
import json
import os
import re
import shutil

from bench import folder
from picturetty import PictureTerminal, png
from tap import FIRESTEEL, Skip, run, sh

RED, BLUE = (255, 0, 0), (0, 0, 255)
CELLS = '-- %% P\ndisplay.image "p.png"\n\n' + "".join(f"-- %% C{i}\nprint({i})\n\n" for i in range(30))
PROTOCOLS = ("kitty", "placed", "sixel", "iterm2")


def halves(x, y, width=200):
    return RED if x < width / 2 else BLUE


def place(t, notebook=CELLS, picture=None):
    where = folder(t, notebook, "n.lua")
    with open(f"{where}/p.png", "wb") as f:
        f.write(picture or png(200, 100, halves))
    return where


def terminal(t, knows, notebook=CELLS, picture=None, **more):
    return PictureTerminal([FIRESTEEL, "n.lua"], place(t, notebook, picture), knows, **more)


def shown(tty, seconds=20):
    """The picture below the first cell, 20 columns by 5 rows, once it is there."""
    tty.see("idle")
    tty.press("C-e")
    tty.until(lambda: len(tty.picture()) == 100, seconds)
    tty.rest()
    return tty.picture()


def is_whole(cells):
    left, top = min(cells, default=(0, 0))
    want = {(left + x, top + y): RED if x < 10 else BLUE for x in range(20) for y in range(5)}
    return cells == want


def test_each_protocol_shows_the_picture_where_the_cell_has_its_rows(t):
    for knows in PROTOCOLS:
        with terminal(t, knows) as tty:
            cells = shown(tty)
            assert is_whole(cells) and min(cells) == (4, 3), (knows, cells)
            assert "image p.png (200×100" in tty.rows()[2] and tty.asked == 1, (knows, tty.text())


def test_nothing_is_sent_while_nothing_changes(t):
    for knows in PROTOCOLS:
        with terminal(t, knows) as tty:
            shown(tty)
            assert tty.rest(1) == 0, knows


def test_no_question_is_asked_where_there_is_no_picture(t):
    with terminal(t, "sixel", '-- %% A\nprint "no picture"\n') as tty:
        tty.see("idle")
        tty.press("C-e")
        tty.see("no picture")
        tty.rest()
        assert tty.asked == 0 and b"\x1b_G" not in tty.bytes and b"\x1b[c" not in tty.bytes


def test_what_is_scrolled_away_is_gone_and_comes_back(t):
    for knows in PROTOCOLS:
        with terminal(t, knows) as tty:
            before = shown(tty)
            tty.press("G")
            tty.see("print(29)")
            tty.rest()
            assert not tty.picture(), (knows, tty.picture())
            tty.press("g", "g")
            tty.until(lambda: tty.picture() == before)


def test_a_picture_that_is_cut_by_the_screen_shows_the_rest(t):
    for knows in PROTOCOLS:
        with terminal(t, knows) as tty:
            shown(tty)
            tty.type("\x1b[<65;10;10M")  # the wheel: three rows
            tty.until(lambda: min(tty.picture(), default=None) == (4, 0))
            tty.type("\x1b[<65;10;10M")
            tty.until(lambda: len(tty.picture()) == 40)
            tty.rest()
            cells = tty.picture()
            assert cells == {(4 + x, y): RED if x < 10 else BLUE for x in range(20) for y in range(2)}, (knows, cells)


def test_scrolling_costs_what_is_new_and_pixels_wait_until_it_rests(t):
    """A picture of 60 columns and 14 rows moves by three rows four times, quickly."""
    picture, sent = png(600, 280, lambda x, y: (x * 7 % 256, y * 5 % 256, (x * y) % 256)), {}
    for knows in PROTOCOLS:
        with terminal(t, knows, picture=picture) as tty:
            tty.see("idle")
            tty.press("C-e")
            tty.until(lambda: len(tty.picture()) == 840)
            tty.rest()
            before = tty.sent
            tty.type("\x1b[<65;10;10M" * 4)
            tty.until(lambda: len(tty.picture()) == 5 * 60)
            tty.rest()
            sent[knows] = tty.sent - before
            print(f"# {knows}: {before} bytes until it was shown, {sent[knows]} for twelve rows of scrolling")
    # kitty keeps the picture: only cells are sent
    assert sent["kitty"] < 8000 and sent["placed"] < 4000, sent


def test_a_dialog_covers_it_and_it_comes_back(t):
    for knows in PROTOCOLS:
        with terminal(t, knows, lines=12) as tty:
            before = shown(tty)
            tty.press("?")
            tty.until(lambda: not tty.picture())
            tty.press("Esc")
            tty.until(lambda: tty.picture() == before)
            tty.press(":")
            tty.see("palette")
            tty.rest()
            left = tty.picture()
            assert len(left) < 100 and all(before[place] == colour for place, colour in left.items()), (knows, left)
            rows = tty.rows()
            assert all(rows[y][x:x + 1] in ("", " ", "\xa0", "\U0010eeee") or knows == "kitty" for x, y in left), rows
            tty.press("Esc")
            tty.until(lambda: tty.picture() == before)


def test_another_size_of_the_terminal(t):
    for knows in PROTOCOLS:
        with terminal(t, knows) as tty:
            shown(tty)
            tty.resize(60, 20)
            tty.see("COMMAND")
            tty.rest()
            tty.until(lambda: is_whole(tty.picture()))
            tty.resize(18, 20)  # narrower than the picture
            tty.until(lambda: 0 < len(tty.picture()) < 60)


def test_whoever_leaves_takes_the_pictures_along(t):
    for knows in PROTOCOLS:
        with terminal(t, knows) as tty:
            shown(tty)
            tty.press("q")
            assert tty.end() == 0
            assert not tty.picture() and not tty.images, (knows, tty.picture(), tty.images)


def test_an_editor_has_a_screen_without_pictures(t):
    for knows in PROTOCOLS:
        with terminal(t, knows, env={"EDITOR": "sh -c 'echo in the editor; sleep 1'"}) as tty:
            before = shown(tty)
            tty.press("e")
            tty.see("in the editor")
            assert not tty.picture(), (knows, tty.picture())
            tty.until(lambda: tty.picture() == before)


def test_a_terminal_that_knows_none_has_half_blocks(t):
    """The colours are those of the picture's dots, two a cell."""
    slanted = png(40, 40, lambda x, y: RED if x < y else BLUE)
    with terminal(t, "", picture=slanted) as tty:
        tty.see("idle")
        tty.press("C-e")
        tty.until(lambda: "▀" in tty.text())
        tty.rest()
        assert not tty.picture() and tty.rest(0.5) == 0
        assert b"\x1bP0;1;0q" not in tty.bytes and b"\x1b]1337" not in tty.bytes and b"\x1b_Ga=" not in tty.bytes


def test_a_terminal_that_says_nothing_has_half_blocks_later(t):
    slanted = png(40, 40, lambda x, y: RED if x < y else BLUE)
    with terminal(t, "", picture=slanted, answers=False) as tty:
        tty.see("idle")
        tty.press("C-e")
        tty.until(lambda: "▀" in tty.text())
        tty.press("C-l")
        tty.rest()
        assert tty.asked == 1


def test_a_setting_and_the_environment_say_how(t):
    with terminal(t, "sixel", env={"FIRESTEEL_PICTURES": "none"}) as tty:
        tty.see("idle")
        tty.press("C-e")
        tty.see("image p.png (200×100")
        tty.rest()
        assert not tty.picture() and tty.asked == 0
    with terminal(t, "sixel", env={"FIRESTEEL_PICTURES": "sixel"}) as tty:
        assert is_whole(shown(tty)) and tty.asked == 0
    where = place(t)
    with open(f"{where}/config.yaml", "w", encoding="utf-8") as f:
        f.write("pictures: iterm2\n")
    with PictureTerminal([FIRESTEEL, "n.lua"], where, "iterm2", env={"FIRESTEEL_CONFIG": f"{where}/config.yaml"}) as tty:
        assert is_whole(shown(tty)) and tty.asked == 0


def test_what_is_no_picture_is_a_line_and_text_never_is_a_picture(t):
    broken = png(200, 100, halves)[:300]
    notebook = CELLS.replace("display.image", 'print "\\u{10EEEE}\\u{305}\\u{305} text"\ndisplay.image')
    for knows in ("kitty", "sixel"):
        with terminal(t, knows, notebook, picture=broken) as tty:
            tty.see("idle")
            tty.press("C-e")
            tty.see("image p.png (200×100")
            tty.rest()
            assert not tty.picture() and "\ufffd text" in tty.text().replace("\u0305", ""), tty.text()


def test_pictures_of_notebooks_of_others(t):
    output = {"output_type": "display_data", "metadata": {}, "data": {
        "text/plain": ["<Figure size 640x480 with 1 Axes>"], "image/png": base64.b64encode(png(200, 100, halves)).decode() + "\n"}}
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": 1, "source": "plot()", "outputs": [output]}
    for knows in PROTOCOLS:
        where = folder(t, json.dumps({"cells": [cell], "metadata": {"kernelspec": {"name": "nope", "language": "python"}},
                                      "nbformat": 4, "nbformat_minor": 5}), "o.ipynb")
        with PictureTerminal([FIRESTEEL, "o.ipynb"], where, knows) as tty:
            tty.until(lambda: len(tty.picture()) == 100)
            tty.rest()
            assert is_whole(tty.picture()) and "Figure" not in tty.text(), tty.text()


def test_a_run_that_is_over_shows_its_pictures(t):
    where = place(t)
    assert sh(FIRESTEEL, "run", "n.lua", cwd=where).code == 0
    with PictureTerminal([FIRESTEEL, "n.lua"], where, "kitty") as tty:
        tty.see("idle")
        tty.press("g", "h")
        tty.see("Runs of")
        tty.press("Enter")
        tty.see("read-only")
        tty.press("g", "g")
        tty.until(lambda: is_whole(tty.picture()))



def test_through_a_tmux_that_lets_it_pass(t):
    """tmux has cells with placeholders, and passes the pictures themselves on."""
    where, socket = place(t), t.dir()
    with open(f"{socket}/conf", "w", encoding="utf-8") as f:
        f.write("set -g allow-passthrough on\nset -g status off\nset -sg escape-time 10\n")
    tmux = ["tmux", "-u", "-f", f"{socket}/conf", "-S", f"{socket}/s"]
    t.after(lambda: sh(*tmux, "kill-server"))
    with PictureTerminal([*tmux, "new-session", FIRESTEEL, "n.lua"], where, "kitty", columns=81) as tty:
        before = shown(tty, 40)
        assert is_whole(before) and b"\x1bP0;1;0q" not in tty.bytes
        sh(*tmux, "split-window", "-h", "sleep 100")  # half as wide
        tty.until(lambda: is_whole(tty.picture()))
        sh(*tmux, "kill-pane", "-t", "1")
        tty.until(lambda: tty.picture() == before)
        tty.press("G")
        tty.until(lambda: not tty.picture())



SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='100'><rect width='100' height='100' fill='#f00'/>" \
      "<rect x='100' width='100' height='100' fill='#00f'/></svg>"


def test_an_svg_is_drawn_by_rsvg_convert(t):
    if not shutil.which("rsvg-convert"):
        raise Skip("rsvg-convert is not installed")
    notebook = CELLS.replace('display.image "p.png"', f"display.image([[{SVG}]])")
    for knows in PROTOCOLS:
        with terminal(t, knows, notebook) as tty:
            assert is_whole(shown(tty)), knows


def test_an_svg_is_a_line_where_the_program_is_missing_fails_or_never_ends(t):
    notebook = CELLS.replace('display.image "p.png"', f"display.image([[{SVG}]])")
    for body in (None, "exit 1", "echo no picture", "cat /dev/zero"):
        where = t.dir()
        if body:
            with open(f"{where}/rsvg-convert", "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\n{body}\n")
            os.chmod(f"{where}/rsvg-convert", 0o755)
        for program in ("sh", "echo", "cat"):
            os.symlink(shutil.which(program), f"{where}/{program}")
        with terminal(t, "kitty", notebook, env={"PATH": where}) as tty:
            tty.see("idle")
            tty.press("C-e")
            tty.see("image (")
            tty.rest(0.5)
            assert not tty.picture(), (body, tty.text())
            tty.press("q")
            assert tty.end() == 0



def test_a_table_of_pandas_is_a_table(t):
    """As pandas leaves a DataFrame: below the cell, and on the full screen, where it can be sorted."""
    html = ('<table border="1" class="dataframe"><thead><tr style="text-align: right;"><th></th><th>name</th><th>loss</th></tr></thead>'
            '<tbody><tr><th>0</th><td>adam</td><td>0.5</td></tr><tr><th>1</th><td>sgd</td><td>12.25</td></tr></tbody></table>')
    notebook = f'-- %% T\ndisplay {{ ["text/plain"] = "plain words", ["text/html"] = [[{html}]] }}\n'
    with terminal(t, "", notebook) as tty:
        tty.see("idle")
        tty.press("C-e")
        tty.until(lambda: any(re.search(r"│ 1  sgd +12\.25$", row) for row in tty.rows()))
        tty.rest()
        assert any(re.search(r"│ +name +loss$", row) for row in tty.rows()) and "│ plain" not in tty.text(), tty.text()
        assert any(re.search(r"│ 0  adam +0\.5$", row) for row in tty.rows()), tty.text()
        tty.press("O", "\t")
        tty.until(lambda: "sgd" in tty.text() and "table" in tty.rows()[0])


run(globals())
