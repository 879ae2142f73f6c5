#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What cells show beside text: tables with types, charts, images, HTML, trees."""
import base64
import json
import os
import struct
import zlib

from kernel import Kernel
from tap import FIRESTEEL, run, sh

KIND = "application/vnd.firesteel.%s+json"


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + b"\xff" * width for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def shown(k, source):
    r = k.run(source)
    assert r.state == "ok" and len(r.displays) == 1, (source, r)
    return r.displays[0]["data"]


def fails(k, source):
    r = k.run("\n" + source)
    assert r.error and r.error["line"] == 2, (source, r)
    return r.error["message"]


def test_columns_have_types(t):
    k = Kernel(t)
    data = shown(k, """display.table({ { "a", 0, 999, 1.5, 0.125, 0, 1234567 }, { "bc", -1, 12345678, "2m", 1, 1.7e9, 12 } },
  { columns = { "name", "n", "size", "took", "part", "at", "count" },
    types = { size = "bytes", took = "duration", part = "percent", at = "date", count = "count" } })""")
    assert data["text/plain"] == (
        "name   n     size   took     part  at                       count\n"
        "a      0    999 B   1.5s   12.5 %  1970-01-01 00:00:00  1,234,567\n"
        "bc    -1  12.3 MB  2m00s  100.0 %  2023-11-14 22:13:20         12"), data["text/plain"]
    table = data[KIND % "table"]
    assert [c if isinstance(c, str) else c["name"] + ">" for c in table["columns"]] == \
        ["name", "n>", "size>", "took>", "part>", "at", "count>"], table
    assert table["rows"][1] == ["bc", "-1", "12.3 MB", "2m00s", "100.0 %", "2023-11-14 22:13:20", "12"], table
    assert shown(k, "display.table({ { 1500 }, { 999600 }, { 5e15 } }, { types = { 'bytes' } })")["text/plain"] == "1.5 kB\n1.0 MB\n5.0 PB"
    assert fails(k, "display.table({ { a = 1 } }, { types = { a = 'byte' } })") == "display.table has no type byte; did you mean bytes?"
    assert fails(k, "display.table({ { aa = 1 } }, { types = { ab = 'bytes' } })") == "display.table has no column ab; did you mean aa?"


def test_bars_and_histograms_are_text_where_nothing_draws(t):
    k = Kernel(t)
    data = shown(k, "display.plot { n = { 10, 5, 0.25 }, x = { 'a', 'bb', 'c' }, kind = 'bars', title = 'T', y_label = 'hits' }")
    assert data["text/plain"] == "T\n a  " + "█" * 40 + " 10\nbb  " + "█" * 20 + " 5\n c  █ 0.25", data
    assert data[KIND % "plot"] == {"title": "T", "x": ["a", "bb", "c"], "kind": "bars", "y_label": "hits",
                                   "series": [{"name": "n", "y": [10, 5, 0.25]}]}, data
    plot = shown(k, "display.plot { { 0, 1, 1, 2, 2, 2, 4, 0/0 }, kind = 'histogram', bins = 4 }")[KIND % "plot"]
    assert plot["x"] == ["0", "1", "2", "3"] and plot["series"][0]["y"] == [1, 2, 3, 1], plot
    assert shown(k, "display.plot { { 3, 3 }, kind = 'histogram', bins = 2 }")[KIND % "plot"]["series"][0]["y"] == [2, 0]
    plot = shown(k, "display.plot { s = { 1, 1/0 }, x = { 0.5, 2 }, kind = 'scatter', x_label = 'time (s)' }")[KIND % "plot"]
    assert (plot["kind"], plot["x"], plot["x_label"], plot["series"][0]["y"]) == ("scatter", [0.5, 2], "time (s)", [1, None]), plot
    assert "kind" not in shown(k, "display.plot { a = { 1 } }")[KIND % "plot"]
    assert fails(k, "display.plot { a = { 1 }, kind = 'bar' }") == "display.plot has no kind bar; did you mean bars?"
    assert fails(k, "display.plot { a = { 1 }, x = { 'b' } }") == "display.plot: x[1] is a string; places are numbers"
    assert fails(k, "display.plot { title = 3, a = { 1 } }") == "display.plot: title must be a text, not 3"
    assert "there is no series" in fails(k, "display.plot { title = 'x' }")
    assert "from 1 to 1000" in fails(k, "display.plot { { 1 }, kind = 'histogram', bins = 0 }")


def test_error_bars(t):
    k = Kernel(t)
    data = shown(k, "display.plot { speed = { 10, 14, 12 }, other = { 1, 1, 1 }, error = { speed = { { 9, 12 }, 0.5, false } } }")
    other, speed = data[KIND % "plot"]["series"]
    assert speed == {"name": "speed", "y": [10, 14, 12], "low": [9, 13.5, None], "high": [12, 14.5, None]} and "low" not in other, data
    first, second = data["text/plain"].splitlines()[2:]
    assert first == "  1  ├──────●─────────────┤                    10 [9, 12]", data
    assert second.strip().startswith("2") and second.endswith("├──●───┤  14 [13.5, 14.5]"), data
    bars = shown(k, "display.plot { { 10, 14 }, kind = 'bars', error = { { 9, 12 }, { 13, 14 } } }")
    assert bars["text/plain"].endswith("█ 14 [13, 14]") and bars[KIND % "plot"]["series"][0]["high"] == [12, 14], bars
    assert [s["name"] for s in shown(k, "display.plot { error = { 3, 2 } }")[KIND % "plot"]["series"]] == ["error"]  # a series as any other
    assert fails(k, "display.plot { y = { 1 }, error = { z = { 1 } } }") == "display.plot: error has no series z; it has y"
    assert fails(k, "display.plot { y = { 1 }, error = { y = { 1, 2 } } }") == "display.plot: error.y has 2 entries, and the series 1 values"
    assert "with low <= high, or false, not {2, 1}" in fails(k, "display.plot { y = { 1 }, error = { y = { { 2, 1 } } } }")
    assert "a histogram has no intervals" in fails(k, "display.plot { { 1 }, kind = 'histogram', error = { { 1, 2 } } }")


def test_images_are_in_reports_and_named_in_terminals(t):
    folder = t.dir()
    image = png(30, 20)
    with open(os.path.join(folder, "dot.png"), "wb") as f:
        f.write(image)
    with open(os.path.join(folder, "n.lua"), "w", encoding="utf-8") as f:
        f.write("display.image 'dot.png'\n")
    done = sh(FIRESTEEL, "run", "n.lua", "--report", "r.ipynb", "--report", "r.html", cwd=folder)
    assert done.code == 0 and f"image dot.png (30×20, {len(image)} bytes)" in done.out, done
    with open(os.path.join(folder, "r.ipynb"), encoding="utf-8") as f:
        outputs = [o for c in json.load(f)["cells"] for o in c.get("outputs", [])]
    text = outputs[0]["data"]["image/png"]
    assert base64.b64decode("".join(text)) == image, outputs
    with open(os.path.join(folder, "r.html"), encoding="utf-8") as f:
        assert "data:image/png;base64," + base64.b64encode(image).decode() in f.read()


def test_an_image_is_known_by_its_bytes(t):
    k = Kernel(t)
    k.run("fs.write('a.bin', '\\xFF\\xD8\\xFF\\xE0\\0\\4ab\\xFF\\xC0\\0\\11\\8\\0\\7\\0\\9\\1')")
    assert shown(k, "display.image 'a.bin'")["text/plain"].startswith("image a.bin (9×7, ")
    data = shown(k, "display.image(('GIF89a\\3\\0\\2\\0'):rep(1), { alt = 'tiny' })")
    assert data["text/plain"] == "image tiny (3×2, 10 bytes)" and "image/gif" in data, data
    assert shown(k, "display.image '<svg xmlns=\"x\"></svg>'")["image/svg+xml"] == '<svg xmlns="x"></svg>'
    assert fails(k, "display.image 'none.png'") == "display.image: none.png: No such file or directory"
    k.run("fs.write('x.txt', 'text')")
    assert fails(k, "display.image 'x.txt'") == "display.image: x.txt is no PNG, JPEG, GIF, WebP or SVG"
    k.run("fs.write('cut.jpg', '\\xFF\\xD8\\xFF\\xE0')")
    assert shown(k, "display.image 'cut.jpg'")["text/plain"] == "image cut.jpg (4 bytes)"
    assert "has more than 4.2 MB" in fails(k, "display.image('\\x89PNG\\r\\n\\x1a\\n' .. ('x'):rep(5000000))")


def test_html_is_text_in_a_terminal(t):
    k = Kernel(t)
    data = shown(k, "display.html [[<style>p {}</style><h1>A &amp; B</h1><ul><li>one<li>two</ul><script>if (a < b) x()</script>"
                    "<table><tr><td>x</td><td>1</td></tr></table>&#65;&nope;]]")
    assert data["text/plain"] == "A & B\n- one- two\nx  1\nA&nope;" or data["text/plain"].startswith("A & B\n"), data
    assert "x()" not in data["text/plain"] and "p {}" not in data["text/plain"] and data["text/html"].startswith("<style>"), data
    assert shown(k, "display.html('<b>x</b>', { text = 'y' })")["text/plain"] == "y"


def test_json_is_a_tree(t):
    k = Kernel(t)
    data = shown(k, "display.json { b = { 1, 'x', json.null }, a = json.array {}, c = { d = true } }")
    assert data["text/plain"] == '{3}\n├ a: [0]\n├ b: [3]\n│ ├ 1\n│ ├ "x"\n│ └ null\n└ c: {1}\n  └ d: true', data["text/plain"]
    assert data["application/json"] == {"a": [], "b": [1, "x", None], "c": {"d": True}}, data
    text = shown(k, "t = {} for i = 1, 60 do t[i] = i end display.json(t)")["text/plain"]
    assert text.endswith("├ 50\n└ … and 10 more"), text[-60:]
    assert "contains itself" in fails(k, "t = {} t[1] = t display.json(t)")


run(globals())
