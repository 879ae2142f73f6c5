// SPDX-License-Identifier: MIT
// vi's keys in a text: what vim makes of the same keys. The cursor is the | in the texts.
#include "base/mem.h"
#include "base/text/utf8.h"
#include "tests/support/tap.h"
#include "tui/edit/vi.h"

#include <string.h>

// The text with a | at the cursor, after these keys; ^ is Esc. Insert mode shows as [.
static const char *after(const char *words, const char *keys)
{
    static buf out;
    AUTO_BUF plain = {0}, clipboard = {0};
    CLEANUP(vi_done) struct vi v = {0};
    const char *bar = strchr(words, '|');
    pos at = {0};
    for (const char *c = words; *c; c++)
        if (*c != '|')
            buf_char(&plain, *c);
    for (const char *c = words; c < bar; c++)
        at = *c == '\n' ? (pos){at.line + 1, 0} : (pos){at.line, at.byte + 1};
    edit *e = edit_new(buf_cstr(&plain), plain.len);
    edit_set_cursor(e, at);
    for (const char *k = keys; *k; k++) {
        if (*k == '^' && !v.prefix)
            vi_escape(&v, e);
        else if (v.mode == VI_INSERT)
            edit_type(e, k, 1);
        else
            vi_type(&v, e, (uint32_t)(unsigned char)*k, &clipboard);
    }
    buf_clear(&out);
    pos now = edit_cursor(e);
    text_copy(edit_text(e), (pos){0}, now, &out);
    buf_str(&out, v.mode == VI_INSERT ? "[" : "|");
    text_copy(edit_text(e), now, text_end(edit_text(e)), &out);
    edit_free(e);
    return buf_cstr(&out);
}

static const struct {
    const char *words, *keys, *want;
} moves[] =
    {
        {"|one two", "w", "one |two"},
        {"|one two", "e", "on|e two"},
        {"one two| x", "b", "one |two x"},
        {"|a.b c", "w", "a|.b c"},
        {"|a.b c", "W", "a.b |c"},
        {"|one\ntwo", "jl", "one\nt|wo"},
        {"|one two", "$", "one tw|o"},
        {"one t|wo", "0", "|one two"},
        {"  one t|wo", "_^", "  one t|wo"},
        {"|a\nb\nc", "G", "a\nb\n|c"},
        {"a\nb\n|c", "gg", "|a\nb\nc"},
        {"|a\nb\nc", "2G", "a\n|b\nc"},
        {"|f(a, b)", "f,", "f(a|, b)"},
        {"|a,b,c,d", "f,;", "a,b|,c,d"},
        {"|a,b,c,d", "2f,,", "a|,b,c,d"},
        {"|abcd", "td", "ab|cd"},
        {"f|(a(b)c)", "%", "f(a(b)c|)"},
        {"|one two three", "2w", "one two |three"},
        {"|a\n\nb", "}", "a\n|\nb"},
},
  changes[] = {
      {"|one two", "dw", "|two"},
      {"|one two three", "d2w", "|three"},
      {"|one two three", "2dw", "|three"},
      {"one |two\nthree", "dw", "one| \nthree"},
      {"|one two", "cwx^", "|x two"},
      {"a\n|b\nc", "dd", "a\n|c"},
      {"a\n|b", "dd", "|a"},
      {"|a\nb\nc", "2dd", "|c"},
      {"|a\nb", "ddp", "b\n|a"},
      {"|a\nb", "yyjp", "a\nb\n|a"},
      {"|a\nb", "yyP", "|a\na\nb"},
      {"|abc", "x", "|bc"},
      {"ab|c", "x", "a|b"},
      {"|abc", "xp", "b|ac"},
      {"|abc", "2x", "|c"},
      {"one| two", "D", "on|e"},
      {"one |two", "Cx^", "one |x"},
      {"|one", "A!^", "one|!"},
      {"o|ne", "I!^", "|!one"},
      {"|one", "a!^", "o|!ne"},
      {"|one", "ox^", "one\n|x"},
      {"|one", "Ox^", "|x\none"},
      {"|abc", "rx", "|xbc"},
      {"|abc", "2rx", "x|xc"},
      {"|aBc", "3~", "AbC|"},
      {"|a\n  b", "J", "a| b"},
      {"f(a|b, c)", "ci(x^", "f(|x)"},
      {"f(a|b, c)", "da(", "|f"},
      {"x = \"a|b\"", "ci\"y^", "x = \"|y\""},
      {"one t|wo three", "diw", "one | three"},
      {"one t|wo three", "daw", "one |three"},
      {"{ a|b }", "di{", "{|}"},
      {"|one two one", "cwx^w.", "x |x one"},
      {"|a b c", "dw.", "|c"},
      {"|abc\nabc", "xj.", "bc\n|bc"},
      {"|one two", "vey$p", "one twoon|e"},
      {"|one two", "ved", "| two"},
      {"|a\nb\nc", "Vjd", "|c"},
      {"|one two", "dwu", "|one two"},
      {"a\n|b\nc", "ddu", "a\n|b\nc"},
      {"|a b", "d^w", "a |b"},
      {"|abc", "scx", "cx[bc"},
      {"|a, b", "dt,", "|, b"},
      {"|a, b", "df,", "| b"},
      {"|x(1)", "d%", "|x(1)"},
      {"a|(1)b", "d%", "a|b"},
      {"|a\nb\nc", "dj", "|c"},
      {"|a\nb\nc", "dG", "|"},
};

TEST(motions)
{
    for (size_t i = 0; i < ARRAY_LEN(moves); i++)
        if (strcmp(after(moves[i].words, moves[i].keys), moves[i].want) != 0)
            tap_fail(__FILE__, __LINE__, "%s in \"%s\": \"%s\", not \"%s\"", moves[i].keys,
                moves[i].words, after(moves[i].words, moves[i].keys), moves[i].want);
}

TEST(operators_and_commands)
{
    for (size_t i = 0; i < ARRAY_LEN(changes); i++)
        if (strcmp(after(changes[i].words, changes[i].keys), changes[i].want) != 0)
            tap_fail(__FILE__, __LINE__, "%s in \"%s\": \"%s\", not \"%s\"", changes[i].keys,
                changes[i].words, after(changes[i].words, changes[i].keys), changes[i].want);
}

// No keys lead out of the text or end in a loop.
TEST(any_keys_are_survived)
{
    static const char all[] = "hjklwbeWBE0$^Gg{}%;,fFtTdcyx><pPiaIAoOvVrJ~su123456789.\"(w){";
    uint32_t seed = 7;
    for (int round = 0; round < 3000; round++) {
        char keys[24] = "";
        for (size_t i = 0; i + 1 < sizeof keys; i++) {
            seed = seed * 1103515245 + 12345;
            keys[i] = all[(seed >> 16) % (sizeof all - 1)];
        }
        after(round % 3 == 0   ? "|"
              : round % 3 == 1 ? "f(a, |\"b\")\n\n  x = {\n"
                               : "|a b\nc",
            keys);
    }
}

int main(void)
{
    return tap_run();
}
