// SPDX-License-Identifier: MIT
// config.yaml: what it says counts, and what is wrong in it is told with its line; themes.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/tap.h"
#include "tui/config/theme.h"

#include <stdlib.h>
#include <string.h>

static struct settings *of(const char *text)
{
    return settings_new(text, strlen(text));
}

// "3: there is no setting …", or "" where there is no such fault.
static const char *fault(const struct settings *s, int i)
{
    static buf out;
    const cJSON *one = cJSON_GetArrayItem(s->faults, i);
    buf_clear(&out);
    if (one)
        buf_fmt(&out, "%lld: %s", (long long)json_int_or(one, "line", -1), json_str(one, "text"));
    return buf_cstr(&out);
}

TEST(without_a_file_all_is_as_usual)
{
    struct settings *s = settings_new(NULL, 0);
    CHECK_INT(s->theme, THEME_AUTO);
    CHECK(s->mouse && s->ask && s->outputs && !s->line_numbers && !s->outline);
    CHECK(!settings_keys(s, "notebook"));
    CHECK(!s->faults->child);
    settings_free(s);
    s = of("");
    CHECK(!s->faults->child && s->mouse);
    settings_free(s);
}

TEST(what_is_set_counts)
{
    struct settings *s =
        of("theme: high-contrast\npalette: okabe-ito\nline-numbers: true\nmouse: off\n"
           "keys:\n  cells:\n    'g t': outline\n    \"0 0\": none\n"
           "aliases:\n  dp: deployments\n  mine: ':pods -n mine'\n");
    CHECK_STR(fault(s, 0), "");
    CHECK_INT(s->theme, THEME_HIGH_CONTRAST);
    CHECK_INT(s->palette, PALETTE_OKABE_ITO);
    CHECK(s->line_numbers && !s->mouse);
    const struct keymap *maps[] = {settings_keys(s, "notebook"), &notebook_keys};
    CHECK(maps[0] != NULL);
    struct key_input in = {0};
    CHECK_INT(keymap_feed(&in, maps, 2, MODE_COMMAND, 'g'), ACT_NONE);
    CHECK_INT(keymap_feed(&in, maps, 2, MODE_COMMAND, 't'), ACT_OUTLINE);
    CHECK_INT(keymap_feed(&in, maps, 2, MODE_COMMAND, 'g'), ACT_NONE);
    CHECK_INT(keymap_feed(&in, maps, 2, MODE_COMMAND, 's'), ACT_RUN_STALE); // the usual ones stay
    CHECK_INT(keymap_feed(&in, maps, 2, MODE_COMMAND, '0'), ACT_NONE);
    CHECK_INT(keymap_feed(&in, maps, 2, MODE_COMMAND, '0'), ACT_NONE);
    char keys[40];
    keymap_keys(maps, 2, MODE_COMMAND, ACT_RESTART, keys, sizeof keys);
    CHECK_STR(keys, "");
    AUTO_FREE char *alias = settings_alias(s, "dp -A"), *other = settings_alias(s, "mine");
    CHECK_STR(alias, "deployments -A");
    CHECK_STR(other, "pods -n mine");
    CHECK(!settings_alias(s, "dpx") && !settings_alias(s, ""));
    settings_free(s);
}

TEST(what_is_wrong_is_told_with_its_line_and_the_rest_counts)
{
    struct settings *s =
        of("colour: dark\ntheme: pink\nmouse: 3\noutline: true\nkeys:\n  cells:\n"
           "    'Ctrl x': save\n    's': savee\n    'X': save\n  nowhere:\n    a: save\n"
           "aliases:\n  'a b': pods\n  x: {}\n");
    static const char *const wanted[] = {"1: there is no setting \"colour\"",
        "2: theme is one of: auto dark light", "3: mouse is one of: true false",
        "7: \"Ctrl x\" names no keys", "8: there is no action \"savee\" for s; did you mean save",
        "11: keys: \"nowhere\" is no place with keys; there are cells, edit",
        "13: \"a b\" is no alias", "14: alias x: a text is needed"};
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++)
        CHECK_HAS(fault(s, i), wanted[i]);
    CHECK_STR(fault(s, sizeof wanted / sizeof *wanted), "");
    CHECK(s->outline && s->mouse && settings_keys(s, "notebook"));
    settings_free(s);
    static const char *const broken[] = {
        "theme: [", "a: b: c", "\t- x", "- theme", "just words", "theme: dark\ntheme: light\n"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        s = of(broken[i]);
        CHECK(s->faults->child != NULL);
        CHECK(s->mouse);
        settings_free(s);
    }
    s = of("theme: dark\nx: [1\n");
    CHECK_HAS(fault(s, 0), "3: did not find");
    settings_free(s);
}

TEST(keys_of_presets_are_keys)
{
    static const char *const names[] = {"preset: vim", "preset: k9s"};
    for (int i = 0; i < 2; i++) {
        struct settings *s = of(names[i]);
        const struct keymap *map = settings_keys(s, i ? "table" : "notebook");
        AUTO_BUF why = {0};
        CHECK(map && keymap_check(map, &why));
        CHECK_STR(buf_cstr(&why), "");
        settings_free(s);
    }
    struct settings *s =
        of("preset: vim\nkeys:\n  cells:\n    u: none\n"); // a person goes before it
    const struct keymap *map = settings_keys(s, "notebook");
    struct key_input in = {0};
    CHECK_INT(keymap_feed(&in, &map, 1, MODE_COMMAND, 'u'), ACT_NONE);
    CHECK_INT(keymap_feed(&in, &map, 1, MODE_COMMAND, 'i'), ACT_EDIT);
    settings_free(s);
}

TEST(the_template_says_what_is_usual)
{
    AUTO_BUF text = {0}, open = {0};
    settings_template(&text);
    struct settings *s = of(buf_cstr(&text));
    CHECK_STR(fault(s, 0), "");
    settings_free(s);
    for (const char *c = buf_cstr(&text); *c; c++) { // with each line taken in
        bool first = c == text.data || c[-1] == '\n';
        if (!(first && *c == '#' && c[1] != ' ' && c[1] != '\n'))
            buf_char(&open, *c);
    }
    s = of(buf_cstr(&open));
    CHECK_HAS(buf_cstr(&open), "\nmouse: true\n");
    CHECK_STR(json_str(s->aliases, "dp"), NULL);
    CHECK_STR(fault(s, 0), "");
    settings_free(s);
}

// Replaces the part of the page between its first table and its end.
TEST(the_page_has_the_settings_as_they_are)
{
    AUTO_BUF page = {0}, made = {0}, out = {0};
    err e = {0};
    settings_document(&made);
    CHECK_OK(path_read(tap_source("doc/configuration.md"), &page, 0, &e) == 0, e);
    const char *from = strstr(buf_cstr(&page), "| setting |");
    if (getenv("FIRESTEEL_WRITE")) {
        buf_add(&out, page.data, from ? (size_t)(from - page.data) : page.len);
        buf_str(&out, buf_cstr(&made));
        CHECK_OK(
            path_write(tap_source("doc/configuration.md"), out.data, out.len, 0644, &e) == 0, e);
    } else if (!strstr(buf_cstr(&page), buf_cstr(&made))) {
        tap_fail(__FILE__, __LINE__,
            "doc/configuration.md is old: FIRESTEEL_WRITE=1 test-tui-settings writes it");
    }
}

static color as(const char *text, enum background b, style s)
{
    struct settings *set = of(text);
    struct theme t = theme_of(set, b);
    settings_free(set);
    return theme_style(&t, s).fg;
}

TEST(colours_suit_the_background)
{
    style yellow = {.fg = COLOR_INDEX(3)}, dim = {.attrs = ATTR_DIM},
          rgb = {.fg = COLOR_RGB(1, 2, 3)};
    CHECK_INT(as("", BACKGROUND_UNKNOWN, yellow), COLOR_INDEX(3));
    CHECK_INT(as("", BACKGROUND_DARK, yellow), COLOR_INDEX(3));
    CHECK_INT(as("", BACKGROUND_LIGHT, yellow), COLOR_INDEX(130));
    CHECK_INT(as("theme: dark", BACKGROUND_LIGHT, yellow), COLOR_INDEX(3));
    CHECK_INT(as("theme: light", BACKGROUND_DARK, yellow), COLOR_INDEX(130));
    CHECK_INT(as("theme: light", BACKGROUND_DARK, dim), COLOR_INDEX(243));
    CHECK_INT(as("theme: light", BACKGROUND_DARK, rgb), COLOR_RGB(1, 2, 3));
    CHECK_INT(as("theme: mono", BACKGROUND_DARK, rgb), COLOR_NONE);
    CHECK_INT(as("palette: okabe-ito", BACKGROUND_DARK, yellow), COLOR_INDEX(220));
    struct settings *s = of("");
    struct theme t = theme_of(s, BACKGROUND_DARK);
    CHECK(!theme_changes(&t));
    settings_free(s);
    s = of("theme: mono");
    t = theme_of(s, BACKGROUND_DARK);
    CHECK_INT(theme_style(&t, (style){.bg = COLOR_INDEX(2)}).attrs, ATTR_REVERSE);
    settings_free(s);
    CHECK_INT(background_of_colorfgbg("15;0"), BACKGROUND_DARK);
    CHECK_INT(background_of_colorfgbg("0;default;15"), BACKGROUND_LIGHT);
    CHECK_INT(background_of_colorfgbg("0;"), BACKGROUND_UNKNOWN);
    CHECK_INT(background_of_colorfgbg(NULL), BACKGROUND_UNKNOWN);
}

int main(void)
{
    return tap_run();
}
