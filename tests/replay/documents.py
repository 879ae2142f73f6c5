#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs as documents: the HTML page (nothing asked, nothing run, all of it escaped), ipynb as papermill has it, Markdown."""
import html.parser
import json
import os
import re
import shutil

from tap import FIRESTEEL, Skip, run, sh

NOTEBOOK = """\
-- %% [markdown]
-- # Nightly *check*
--
-- <script>alert(1)</script> ![far](http://far.example/x.png) [go](javascript:alert(1)) &#x202e;
--
-- | model | accuracy |
-- |---|---:|
-- | wide | 0.94 |

-- %% parameters tags=["parameters"]
lr = 0.1 -- learning rate
note = "a"

-- %% Log <b>
print "\\27[1;31mred\\27[0m \\27[38;5;208morange\\27[0m </pre><img src=x onerror=alert(1)>"
for i = 1, 100 do print(("%03d of a log"):format(i)) end
io.stderr:write "a warning\\n"

-- %% Table
display.table({ { model = "wide", n = 12 }, { model = "<i>", n = 8 } }, { columns = { "model", "n" } })

-- %% Plot
display.plot { title = "Loss & more", x = { 1, 2, 3, 4 }, train = { 3, 2, 1, 0.5 }, valid = { 3, 0 / 0, 2, 2 } }

-- %% Metrics
for step = 1, 5 do run.metric({ loss = 1 / step, val_loss = 2 / step }, { step = step }) end
run.metric("once", 1)
run.tag "baseline"

-- %% Fails
local x = 1
error "worse & <worse>"

-- %% Never
print "never"
"""
VOID = {"meta", "img", "br", "hr", "link"}


class Page(html.parser.HTMLParser):
    """Whether tags are closed in order, and what is where."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.text = [], [], set(), [], ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        assert not [name for name in attrs if name.startswith("on")], (tag, attrs)
        for name in ("src", "srcset", "data", "action", "background", "poster"):
            assert attrs.get(name, "data:").startswith("data:"), (tag, attrs)
        if "id" in attrs:
            assert attrs["id"] not in self.ids, attrs
            self.ids.add(attrs["id"])
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data

    def count(self, tag, **attributes):
        return sum(1 for name, attrs in self.tags if name == tag and attributes.items() <= attrs.items())


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


def reported(t, *names):
    folder = t.dir()
    write(folder, "n.lua", NOTEBOOK)
    reports = [word for name in names for word in ("--report", name)]
    done = sh(FIRESTEEL, "run", "n.lua", "-p", "lr=0.5", *reports, cwd=folder)
    assert done.code == 1, done
    return folder


def test_html_is_one_page_that_asks_and_runs_nothing(t):
    text = read(reported(t, "out.html"), "out.html")
    page = Page(text)
    policy = [attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy and policy[0].startswith("default-src 'none'") and "script" not in policy[0], policy
    assert not page.count("script") and not page.count("link"), text
    style = text[text.index("<style>"):text.index("</style>")]
    assert "url(" not in style and "@import" not in style, style
    for link in page.links:
        assert link == "http://far.example/x.png" or link[1:] in page.ids, link
    assert "\u202e" not in text and "<U+202E>" in page.text, "a mark that turns the direction of writing"


def test_html_shows_the_run(t):
    text = read(reported(t, "out.html"), "out.html")
    page = Page(text)
    first = page.text[:page.text.index("Contents")]
    for words in ("Nightly check", "failed", "5 of 7 cells passed, 1 failed, 1 not run", "Fails, line 2", "worse & <worse>",
                  "n.lua", "lr0.5", "baseline", "loss0.2550.21"):
        assert words in first.replace("\n", ""), (words, first)
    assert page.count("svg") == 2 and page.count("polyline") >= 4, "a plot and the curves of loss"
    # 4 and 3 marks in the plot (one value is no number), 5 and 5 of the metric and its twin
    assert page.count("circle") == 17, page.count("circle")
    assert '<span class="b f1">red</span>' in text and "color:#ff8700;" in text, "ANSI colours"
    assert "101 lines; all but the last 10" in page.text, "a long log is folded"
    assert "<mark>error &quot;worse &amp; &lt;worse&gt;&quot;</mark>" in text, "the line that failed stands out"
    assert '<td class="n">12</td>' in text and "<td>&lt;i&gt;</td>" in text, "a table"
    assert "</pre><img src=x" in page.text and "<script>alert(1)</script>" in page.text, "markup in texts is text"
    assert '<th class="n">accuracy</th>' in text, "a table of Markdown"


def test_export_makes_the_page_of_the_report(t):
    folder = reported(t, "out.html")
    name = sh(FIRESTEEL, "runs", cwd=folder).out.split("\n")[1].split()[0]
    again = sh(FIRESTEEL, "export", name, "--to", "html", cwd=folder)
    assert again.code == 0 and again.out == read(folder, "out.html"), again.err
    done = sh(FIRESTEEL, "export", "-o", "again.html", cwd=folder)
    assert done.code == 0 and read(folder, "again.html") == again.out, done


def test_html_of_displays(t):
    folder = t.dir()
    write(folder, "n.lua", """\
-- %%
display { ["text/plain"] = "p", ["text/html"] = "<script>x()</script><b onclick='y()'>bold</b>" }
display { ["text/plain"] = "a dot", ["image/png"] = "iVBORw0KGgo=\\"><script>" }
display { ["text/plain"] = "j", ["application/json"] = { deep = { list = { 1, 2 } } } }
display { ["text/plain"] = "s", ["image/svg+xml"] = "<svg xmlns='http://www.w3.org/2000/svg' onload='z()'/>" }
display.plot { { 1 / 0, 0 / 0 } }
local long = {}
for i = 1, 5000 do long[i] = i == 2500 and 1e6 or i % 7 end
display.plot { long }
""")
    done = sh(FIRESTEEL, "run", "n.lua", "--report", "out.html", cwd=folder)
    assert done.code == 0, done
    text = read(folder, "out.html")
    page = Page(text)
    frames = [attrs for tag, attrs in page.tags if tag == "iframe"]
    assert len(frames) == 1 and frames[0]["sandbox"] is None and "<script>" in frames[0]["srcdoc"], frames
    assert page.count("img") == 2 and '"deep"' in page.text, page.text
    assert "no number that can be drawn" in page.text
    drawn = re.findall(r'points="([^"]*)"', text)
    assert len(drawn) == 1 and len(drawn[0].split()) <= 2002, "a long line is drawn by its extremes"
    heights = [float(point.split(",")[1]) for point in drawn[0].split()]
    assert min(heights) < 15 and sorted(heights)[1] > 200, "the peak is there"


def test_html_of_plots(t):
    folder = t.dir()
    write(folder, "n.lua", """\
-- %%
local function plot(p) display { ["text/plain"] = "p", ["application/vnd.firesteel.plot+json"] = p } end
plot { kind = "scatter", x = { 1, 2, 3 }, x_label = "size", y_label = "time (s)", series = { { name = "a", y = { 3, 1, 2 } } } }
plot { kind = "bars", x = { "<one>", "two" }, series = { { name = "a", y = { 3, -1 } }, { name = "b", y = { 1, 2 } } } }
plot { kind = "histogram", x = { 0, 10, 20 }, series = { { name = "n", y = { 1, 5, 2 } } } }
plot { series = { { name = "<m>", y = { 2, 3, 2 }, low = { 1, 2 }, high = { 4, 3.5, 4 } } } }
""")
    done = sh(FIRESTEEL, "run", "n.lua", "--report", "out.html", cwd=folder)
    assert done.code == 0, done
    text = read(folder, "out.html")
    scatter, bars, histogram, intervals = text.split("<svg ")[1:]
    assert scatter.count("<circle") == 3 and "polyline" not in scatter and ">size</text>" in scatter and ">time (s)<" in scatter
    assert bars.count("<rect") == 4 and "&lt;one&gt;</text>" in bars and bars.count("<li ") == 2, bars
    rects = [[float(v) for v in found] for found in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', bars)]
    zero = rects[0][1] + rects[0][3]
    assert abs(rects[1][1] - zero) < 0.2 and rects[1][3] > 10, "a negative bar hangs below zero"
    assert rects[2][0] > rects[0][0] and rects[2][2] == rects[0][2], "bars of two series stand side by side"
    heights = [float(h) for h in re.findall(r'height="([\d.]+)"', histogram)]
    assert len(heights) == 3 and abs(heights[1] / heights[0] - 5) < 0.1, heights
    assert "interval" not in histogram and intervals.count('class="interval"') == 2, intervals  # the third has one end alone
    assert "<title>&lt;m&gt;: 2 [1, 4]</title>" in intervals, intervals
    ends = re.search(r'd="M[\d.]+ ([\d.]+)H[\d.]+M[\d.]+ [\d.]+V([\d.]+)', intervals)
    assert float(ends[1]) > 200 and float(ends[2]) < 12, ends  # over all of the scale, which they have widened


def test_chromium_loads_the_page_without_a_complaint(t):
    chromium = shutil.which("chromium")
    if not chromium:
        raise Skip("there is no chromium")
    folder = reported(t, "out.html")
    done = sh(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={t.dir()}",
              "--dump-dom", f"file://{folder}/out.html")
    assert done.code == 0 and "</html>" in done.out, done
    complaints = [line for line in done.err.split("\n") if "CONSOLE" in line]
    assert not complaints, complaints


def test_ipynb_says_what_papermill_says(t):
    folder = reported(t, "out.ipynb")
    report = json.loads(read(folder, "out.ipynb"))
    metadata = report["metadata"]
    assert metadata["kernelspec"]["language"] == metadata["language_info"]["name"] == "lua", metadata
    papermill = metadata["papermill"]
    assert papermill["parameters"] == {"lr": 0.5} and papermill["default_parameters"] == {"lr": 0.1, "note": "a"}, papermill
    assert papermill["exception"] is True and papermill["input_path"] == "n.lua" and papermill["duration"] > 0, papermill
    assert papermill["start_time"] < papermill["end_time"], papermill
    cells = {c["metadata"].get("title"): c["metadata"].get("papermill") for c in report["cells"]}
    assert cells["Table"]["status"] == "completed" and cells["Table"]["exception"] is False, cells
    assert cells["Fails"]["status"] == "failed" and cells["Never"]["status"] == "pending", cells
    assert cells[None] is None, "a text is not run"
    assert metadata["firesteel"]["metrics"]["loss"]["n"] == 5 and metadata["firesteel"]["tags"] == {"baseline": True}, metadata
    assert sh(FIRESTEEL, "check", "out.ipynb", cwd=folder).code == 0, "and it is a notebook that can be run"


def test_markdown_begins_with_a_summary(t):
    text = read(reported(t, "out.md"), "out.md")
    head = text[:text.index("# Nightly")]
    for words in ("**failed**, 5 of 7 cells passed, 1 failed, 1 not run", "- parameter `lr = 0.5`\n", "**Fails** failed:",
                  "worse & <worse>", "| 3 | Table | ok |", "| 6 | Fails | **failed** |", "| 7 | Never | not run |",
                  "| loss | 0.2 | 5 | 5 | 0.2 | 1 |"):
        assert words in head, (words, head)


run(globals())
