#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tui/term on emulated terminals: what is drawn, what keys arrive, and how the tty is left."""
import os
import signal
import time

from screen import Screen
from tap import BUILD, PATIENCE, run

PROBE = [os.path.join(BUILD, "tests/screen/term-probe")]
KNOWN = ["xterm", "xterm-256color", "tmux", "tmux-256color", "screen", "screen-256color", "linux",
         "vt100", "xterm-mono"]
RESTORED = "cooked main paste-off keys-off"


def probe(**options):
    s = Screen(PROBE, **options)
    s.wait("corner")
    return s


def test_unicode_is_drawn_and_no_control_byte(t):
    with probe() as s:
        rows = s.screen()
        assert rows[3].startswith("┌─ box ────────────┐  bright  "), rows[3]
        assert rows[4].startswith("│漢é→●\ufffd[31m"), rows[4]
        assert rows[5].endswith("████────"), rows[5]
        assert rows[23] == " " * 74 + "corner"
        assert any("⠀" < c <= "⣿" for c in rows[3]), rows[3]


def test_colours_are_brought_down(t):
    expected = {
        "xterm-256color": ["  22-27 fg=9 bold", "  22-24 fg=196 underline", "  22-27 bg=2"],
        "screen": ["  22-27 fg=1 bold", "  22-24 fg=1 bold underline", "  22-27 bg=2"],
        "vt100": ["  22-27 bold", "  22-24 underline", "  22-27 reverse"],
    }
    for term, runs in expected.items():
        with probe(term=term) as s:
            styles = s.styles()
            for wanted in runs:
                assert wanted in styles, (term, wanted, styles)


def test_no_color(t):
    with probe(env={"NO_COLOR": "1"}) as s:
        styles = s.styles()
        assert not any("fg=" in line or "bg=" in line for line in styles), styles
        assert "  22-27 reverse" in styles


def test_ascii(t):
    with probe(env={"PROBE_ASCII": "1"}, term="vt100") as s:
        rows = s.screen()
        assert rows[4].lstrip("│|")[:9] == "? ?>o?[31", rows[4]
        assert rows[5].endswith("####----"), rows[5]
        assert rows[3].endswith("bright  *") and rows[4].endswith("red      *****"), rows[3:5]
    with Screen(PROBE, env={"LC_ALL": "C"}, term="vt100") as s:
        s.wait("corner")
        assert s.screen()[5].endswith("####----")


def test_no_attribute_goes_on_behind_what_has_it(t):
    """A flag's letters and what is drawn as ASCII took their colours and lines to all plain text behind them."""
    for term, env in [(term, {}) for term in KNOWN] + [("xterm-256color", {"NO_COLOR": "1"}), ("xterm", {"LC_ALL": "C"})]:
        with probe(term=term, env=env) as s:
            styles, of, here = s.styles(), {}, None
            for line in styles:
                if line.startswith("|"):
                    here = of.setdefault(line[1:].strip(), [])
                else:
                    here.append(line.strip())
            flag = next(words for words in of if "DE" in words)
            assert of[flag] or term == "linux", (term, styles)
            for words, runs in of.items():
                if "plain" in words or "corner" in words or words.startswith("size"):
                    assert not runs, (term, env, words, runs)


def test_margins_of_scrolling_end_with_a_size(t):
    """Of the terminal that the tests have: what a program set for 24 rows may not outlive them (libvterm dies of it)."""
    program = ["sh", "-c", r"printf '\033[15;20r\033[20;1Hhere'; read line; printf '\n\n\nthere'; read line"]
    with Screen(program) as s:
        s.wait("here")
        s.resize("60x12")
        s.keys("Enter")
        s.wait("there")
        s.keys("Enter")
        assert s.exit() == "exit 0"


def test_keys_on_each_terminal(t):
    keys = "a Up S-Up C-Right M-x Home End PgUp Delete Backspace F1 F5 C-e S-Tab Esc"
    for term in KNOWN:
        with probe(term=term) as s:
            s.keys(keys)
            s.wait(keys)


def test_keys_that_need_asking(t):
    with probe() as s:
        s.keys("S-Enter C-Enter M-Enter C-Space C-\\ C-_ C-S-Left M-S-Up")
        s.wait("S-Enter C-Enter M-Enter C-Space C-\\ C-_ C-S-Left M-S-Up")
        s.keys("C-l")
        s.send(b"\x1b[27;2;13~\x1b[13;5u\x1b\x1b[A\x1b[1;5P")
        s.wait("S-Enter C-Enter M-Up C-F1")
        s.keys("C-l")
        s.send("é漢".encode() + b"\xff\x1b[<0;1;1M\x1b[?1;2cx")
        s.wait("é 漢 click@0,0 x")


def test_a_slow_sequence_is_one_key_and_a_lone_escape_comes_soon(t):
    with probe() as s:
        s.send(b"\x1b[")
        s.send(b"A")
        s.wait("Up")
        start = time.monotonic()
        s.send(b"\x1b")
        s.wait("Up Esc")
        assert time.monotonic() - start < 2 * PATIENCE


def test_paste_is_one_event(t):
    with probe() as s:
        s.paste("if x\n  q")
        s.wait("<if x")
        s.keys("b")
        s.wait("q> b")


def test_mouse_title_clipboard_and_notification(t):
    log = os.path.join(t.dir(), "sent")
    with probe(log=log) as s:
        s.quiet()
        s.send(b"\x1b[<0;5;3M\x1b[<0;5;3m\x1b[<0;5;3M\x1b[<65;1;1M")
        s.wait("click@4,2 double@4,2 down@0,0")
        s.send(b"\x1b[<0;5")  # over a slow line
        s.quiet(100)
        s.send(b";3Mx")
        s.wait("click@4,2 x")
        s.send(b"\x1b[O\x1b[?2026;2$y")
        s.keys("C-o")
        s.wait("C-o")
        s.send(b"\x1b[I")
        s.keys("C-l C-o")
        s.quiet()
        s.resize("100x30")  # a larger picture
        s.wait("size 100x30")
        s.quiet()
        s.keys("q")
        s.exit()
    with open(log, "rb") as f:
        sent = f.read()
    assert sent.count(b"\x1b]2;probe: title\x07") == 1  # once is enough
    assert sent.count(b"\x1b]52;c;Y29waWVk\x07") == 2
    assert sent.count(b"\x07") == 4, sent.count(b"\x07")  # one of them rings: not where it is looked at
    assert sent.index(b"\x1b[?1000h") < sent.index(b"\x1b[?1000l")  # given back while it runs
    assert b"\x1b[?2026h" in sent and sent.count(b"\x1b[?2026l") > sent.count(b"\x1b[?2026h")
    assert sent.rindex(b"\x1b[?1004l") > sent.rindex(b"\x1b[?2026h")


def test_terminals_that_have_none_of_it_get_none(t):
    for term in ("linux", "vt100", "vt220"):
        log = os.path.join(t.dir(), "sent")
        with probe(term=term, log=log) as s:
            s.keys("C-o")
            s.wait("no clipboard")
            s.keys("q")
            s.exit()
        with open(log, "rb") as f:
            sent = f.read()
        assert b"\x1b]" not in sent and b"2026" not in sent and b"1004" not in sent, sent
        assert b"1006" not in sent and b";2t" not in sent, sent


def test_a_typed_character_costs_little(t):
    with probe() as s:
        s.quiet()
        s.sent()
        for letter in "abcdefgh":
            s.keys(letter)
            s.quiet(40)
            sent = s.sent()
            assert sent < 100, sent


def test_nothing_is_sent_when_nothing_changes(t):
    with probe() as s:
        s.quiet()
        s.sent()
        time.sleep(0.3)
        assert s.sent() == 0


def test_resize(t):
    with probe() as s:
        for size in ("40x10", "100x30", "1x1", "7x3", "80x24"):
            s.resize(size)
        s.wait("size 80x24")
        s.quiet()  # the screens in between had a corner, too
        assert s.screen()[23] == " " * 74 + "corner"
        s.resize("40x10")
        s.wait("size 40x10")
        s.quiet()
        assert s.screen()[9] == " " * 34 + "corner"


def test_restored_after_every_end(t):
    with probe() as s:
        assert s.tty() == "raw alternate paste-on keys-on"
        s.keys("q")
        assert s.exit() == "exit 0"
        assert s.tty() == RESTORED
        assert s.screen()[0] == "bye"
        assert s.cursor()[2]
    for end, how in (("TERM", "signal 15"), ("SEGV", "signal 11"), ("HUP", "signal 1"),
                     ("ABRT", "signal 6"), ("QUIT", "signal 3")):
        with probe() as s:
            s.signal(end)
            left = s.exit()
            assert left == how or os.environ.get("FIRESTEEL_SANITIZED"), (end, left)
            assert s.tty() == RESTORED or end == "SEGV", (end, s.tty())
            assert s.cursor()[2] or end == "SEGV"


def test_suspend(t):
    """Ctrl-Z gives the tty to the shell; fg takes it back and draws everything."""
    shell = ["bash", "--norc", "--noprofile", "-i"]
    with Screen(shell, env={"PS1": "shell> "}) as s:
        s.wait("shell>")
        s.type(f"{PROBE[0]}\n")
        s.wait("corner")
        s.keys("a C-z")
        s.wait("Stopped")
        assert s.tty().split()[1] == "main"
        s.type("fg\n")
        s.wait("corner")
        s.wait("a back C-z")
        s.keys("q")
        s.wait("bye")


def test_what_cannot_be(t):
    for term, words in (("dumb", "cannot place a cursor"), ("no-such", "is not known here")):
        with Screen(PROBE, term=term, size="200x5") as s:
            s.wait(words)
            assert s.exit() == "exit 1"
            assert s.tty() == RESTORED


run(globals())
