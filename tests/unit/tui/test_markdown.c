// SPDX-License-Identifier: MIT
// Markdown as it is displayed, compared as rows of text with their styles.
#include "base/mem.h"
#include "base/text/utf8.h"
#include "tests/support/tap.h"
#include "tui/syntax/markdown_layout.h"

#include <string.h>

static void show(const char *source, int width, bool ascii, buf *out)
{
    markdown *m = markdown_new(source, strlen(source), width, ascii);
    for (size_t i = 0; i < markdown_lines(m); i++) {
        struct ansi_line line = markdown_line(m, i);
        buf_add(out, line.text, line.n);
        buf_char(out, '\n');
    }
    markdown_free(m);
}

static void check(const char *source, int width, const char *want)
{
    AUTO_BUF got = {0};
    show(source, width, false, &got);
    CHECK_STR(buf_cstr(&got), want);
}

TEST(paragraphs_are_wrapped_and_separated)
{
    check("one two\nthree four\n\n\nfive", 10, "one two\nthree four\n\nfive\n");
    check("漢字漢字 漢字", 6, "漢字漢\n字\n漢字\n");
    check("a  \nb\\\nc", 20, "a\nb\nc\n");
    check("", 20, "");
}

TEST(headings)
{
    check("# One #\ntext\n## Two\n\n####### no\nSetext\n---\nX\n=", 20,
        "One\n\ntext\n\nTwo\n\n####### no Setext\n\nX\n");
    check("#", 10, "\n");
    check("#no", 10, "#no\n");
}

TEST(lists_nest_and_are_numbered)
{
    check("- a\n- b\n  - c\n    goes on\n- d", 30, "• a\n• b\n  ◦ c goes on\n• d\n");
    check("9. nine\n10. ten and more words", 14, "9. nine\n10. ten and\n    more words\n");
    check("- one\n\n  two\n\nthree", 20, "• one\n\n  two\n\nthree\n");
    check("- a\n-\n- b", 20, "• a\n•\n• b\n");
}

TEST(lists_have_tasks_numbers_and_blocks)
{
    check("- [ ] open\n- [x] done\n  - in it", 30, "[ ] open\n[x] done\n    ◦ in it\n");
    check("3) c\n4) d\n\n1. a", 30, "3) c\n4) d\n\n1. a\n");
    check("1. a\n\n   ```sh\n   ls\n\n   ps\n   ```\n2. b", 30,
        "1. a\n\n     ls\n\n     ps\n\n2. b\n");
    check("- - a\n  - b", 30, "• ◦ a\n  ◦ b\n");
    check("- > quoted\n  > words\n- | a |\n  |---|\n  | b |", 30,
        "• │ quoted words\n• a\n  ─\n  b\n");
    check("para\n- list\npara", 30, "para\n• list para\n");
}

TEST(what_is_not_known_stands_as_it_is)
{
    check(
        "<div>\n  <b>x</b>\n</div>\n\nan <i>inline</i> <widget>", 40, "x\n\nan inline <widget>\n");
    check("<form>\n  <input>\n</form>", 40, "<form>\n<input>\n</form>\n");
    check("a &amp; b &lt;c&gt; &unknown; &#65;", 40, "a & b <c> &unknown; &#65;\n");
    check("[a](x \"title\") [b][ref] ![](p.png)\n\n[ref]: http://y", 40,
        "a (x) b (http://y)  (p.png)\n");
    check("~~gone~~ and ~ not", 40, "gone and ~ not\n");
}

TEST(quotes_and_rules)
{
    check("> a\n> b\n>> c\n\nd", 10, "│ a b\n│ │ c\n\nd\n");
    check("a\n\n***\nb", 6, "a\n\n──────\nb\n");
    check("---\n\n- - -\n___\n\nb", 3, "───\n\n───\n───\n\nb\n");
    check("> lazy\ngoes on", 20, "│ lazy goes on\n");
}

TEST(code_keeps_its_lines)
{
    check("```lua\nlocal x\n  y\n```\nz", 20, "  local x\n    y\n\nz\n");
    check("a\n\n    code\n     b\n", 20, "a\n\n  code\n   b\n");
    check("~~~\nopen", 20, "  open\n");
    check("> ```\n> in\n\nout", 20, "│   in\n\nout\n");
}

TEST(tables_are_aligned)
{
    check("| a | long |\n|:-:|-----:|\n| 1 | 2 |\n| x \\| y | `c` |\n\nafter", 40,
        "  a   │ long\n──────┼─────\n  1   │    2\nx | y │    c\n\nafter\n");
    check("| a | b |\n|---|---|\n| one two three | x |\n", 12,
        "a        │ b\n─────────┼──\none two  │ x\nthree    │\n");
    check("a | b\nno table", 20, "a | b no table\n");
}

TEST(inline_text)
{
    check("*a* **b** `c*` \\*d\\* snake_case 2 * 3", 60, "a b c* *d* snake_case 2 * 3\n");
    check("[text](http://x) <https://y> ![pic](p.png) [no] (x)", 80,
        "text (http://x) https://y pic (p.png) [no] (x)\n");
    check("***both*** **open *in* it** *not closed", 60, "both open in it *not closed\n");
}

// The styles of a one-row text: a letter for each byte.
static void looks(const char *source, char *out)
{
    markdown *m = markdown_new(source, strlen(source), 80, false);
    struct ansi_line line = markdown_line(m, 0);
    for (size_t i = 0; i < line.spans_n; i++)
        for (size_t k = line.spans[i].from; k < line.spans[i].to; k++) {
            style s = line.spans[i].style;
            out[k] = s.attrs & ATTR_UNDERLINE                     ? 'u'
                     : s.attrs & ATTR_DIM                         ? 'd'
                     : (s.attrs & (ATTR_BOLD | ATTR_ITALIC)) == 5 ? 'B'
                     : s.attrs & ATTR_BOLD                        ? 'b'
                     : s.attrs & ATTR_ITALIC                      ? 'i'
                     : s.fg                                       ? 'c'
                                                                  : '.';
        }
    out[line.n] = '\0';
    markdown_free(m);
}

TEST(looks_nest)
{
    char out[100];
    looks("a *b* **c *d* e** `f` g", out);
    CHECK_STR(out, "..i.bbBbb.c..");
    looks("[go](x) on", out);
    CHECK_STR(out, "uudddd...");
    looks("*a_b_c* _d e_", out);
    CHECK_STR(out, "iiiii.iii");
}

TEST(ascii_has_no_other_characters)
{
    AUTO_BUF got = {0};
    show("- a\n> b\n\n---\n\n|a|b|\n|-|-|\n|c|d|", 20, true, &got);
    for (size_t i = 0; i < got.len; i++)
        CHECK((unsigned char)got.data[i] < 0x80);
    CHECK_HAS(buf_cstr(&got), "- a\n");
}

TEST(rows_know_their_source)
{
    const char *source = "# T\n\nlong words here\nmore\n\n| a | b |\n|---|---|\n| c | d |\n\nend";
    markdown *m = markdown_new(source, strlen(source), 10, false);
    struct ansi_line last = markdown_line(m, markdown_lines(m) - 1);
    CHECK_INT((int)last.n, 3);
    CHECK_INT((int)markdown_source(m, markdown_lines(m) - 1), 9);
    CHECK_INT((int)markdown_source(m, 0), 0);
    CHECK_INT((int)markdown_source(m, 2), 2);
    markdown_free(m);
}

TEST(formulas_stay_and_short_tables_are_tables)
{
    check("Sum $a*b*c$ and $$p*q*r$$ for $5", 60, "Sum $a*b*c$ and $$p*q*r$$ for $5\n");
    check("| a | b |\n|-|:-:|\n| 1 | 2 |", 20, "a │ b\n──┼──\n1 │ 2\n");
    check("a | b\n--|--\n1 | 2", 20, "a │ b\n──┼──\n1 │ 2\n");
    check("a\n--", 20, "a\n");
}

TEST(tags_of_notebooks_are_markdown)
{
    check("<a href=\"https://x.example/a\"><img src=\"b.svg\" alt=\"Open\"></a>", 60,
        "Open (https://x.example/a)\n");
    check("one<br>two<br/>\nthree", 30, "one\ntwo\nthree\n");
    check("<details>\n<summary>More</summary>\n\nhidden\n</details>\nend", 30,
        "More\n\nhidden\n\nend\n");
    check("<p align=\"center\">\n  <b>bold</b> <!-- no\nword --> x<sup>2</sup>\n</p>", 30,
        "bold x2\n");
    check("`<b>` and\n```\n<br>\n```\n    <i>", 30, "<b> and\n  <br>\n\n  <i>\n");
    check("a <name> <https://x.example> 1 < 2", 60, "a <name> https://x.example 1 < 2\n");
}

int main(void)
{
    return tap_run();
}
