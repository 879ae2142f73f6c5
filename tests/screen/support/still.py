# SPDX-License-Identifier: MIT
"""A screen as an SVG, for pages that show the program: a text for each run of a style,
so that it can be read, searched and compared."""
from xml.sax.saxutils import escape

from golden import parse

COLOURS = ["#000000", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#dcdfe4",
           "#5c6370", "#ff7b86", "#b5e890", "#ffd68a", "#82c4ff", "#dd9df0", "#7fd3de", "#ffffff"]
GROUND, INK = "#1e2127", "#dcdfe4"
WIDTH, HEIGHT = 8.4, 18


def colour(style, name, otherwise):
    for word in style.split():
        if word.startswith(name + "="):
            value = word[len(name) + 1:]
            if value.startswith("#"):
                return value
            n = int(value)
            if n < 16:
                return COLOURS[n]
            if n >= 232:
                return "#" + f"{8 + 10 * (n - 232):02x}" * 3
            levels = [0, 95, 135, 175, 215, 255]
            return "#" + "".join(f"{levels[v]:02x}" for v in ((n - 16) // 36, (n - 16) // 6 % 6, (n - 16) % 6))
    return otherwise


def runs(row):
    """(first column, columns, text, style) of each run of one style."""
    x = 0
    while x < len(row):
        end = x + 1
        while end < len(row) and row[end][1] == row[x][1]:
            end += 1
        yield x, end - x, "".join(c for c, _ in row[x:end]), row[x][1]
        x = end


def svg(lines, columns):
    """The answer to `styles` as an SVG."""
    rows = parse(lines)
    w, h = columns * WIDTH + 16, len(rows) * HEIGHT + 16
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:.0f}" height="{h:.0f}" '
           'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">',
           f'<rect width="100%" height="100%" rx="6" fill="{GROUND}"/>']
    for y, row in enumerate(rows):
        for x, n, words, style in runs(row):
            ink, ground = colour(style, "fg", INK), colour(style, "bg", GROUND)
            if "reverse" in style:
                ink, ground = ground, ink
            left, top = 8 + x * WIDTH, 8 + y * HEIGHT
            if ground != GROUND:
                out.append(f'<rect x="{left:.1f}" y="{top}" width="{n * WIDTH:.1f}" height="{HEIGHT}" fill="{ground}"/>')
            if words.strip():
                bold = ' font-weight="bold"' if "bold" in style else ""
                out.append(f'<text x="{left:.1f}" y="{top + 14}" fill="{ink}"{bold} textLength="{n * WIDTH:.1f}" '
                           f'xml:space="preserve">{escape(words)}</text>')
    return "\n".join(out + ["</svg>", ""])
