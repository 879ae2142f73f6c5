// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/yaml.h"
#include "tests/support/tap.h"

static char *to_json(const char *text)
{
    err e = {0};
    AUTO_JSON *j = yaml_parse(text, strlen(text), &e);
    CHECK_OK(j, e);
    return json_to_str(j);
}

#define CHECK_YAML(text, json)                                                                     \
    do {                                                                                           \
        AUTO_FREE char *got_json_ = to_json(text);                                                 \
        CHECK_STR(got_json_, json);                                                                \
    } while (0)

TEST(scalars_are_read_as_kubectl_reads_them)
{
    CHECK_YAML("[yes, No, on, TRUE, y, 'yes']", "[[true,false,true,true,\"y\",\"yes\"]]");
    CHECK_YAML("[~, null, '']", "[[null,null,\"\"]]");
    CHECK_YAML("[12, 0777, 0o17, 0x1F, 0b11, 1_000, +3, -4]", "[[12,511,15,31,3,1000,3,-4]]");
    CHECK_YAML("[1.5, 1e3, .5, 1., 1.2.3, 3.5.7]", "[[1.5,1000,0.5,1,\"1.2.3\",\"3.5.7\"]]");
    CHECK_YAML("[2020-01-02, 1g, 12:30, 089]", "[[\"2020-01-02\",\"1g\",\"12:30\",89]]");
    CHECK_YAML("[9223372036854775807]", "[[9223372036854775807]]");
    CHECK_YAML("{1: a, true: b}", "[{\"1\":\"a\",\"true\":\"b\"}]");
}

TEST(documents_anchors_and_merges)
{
    CHECK_YAML("---\na: 1\n---\n---\nb: 2\n", "[{\"a\":1},{\"b\":2}]");
    CHECK_YAML("", "[]");
    CHECK_YAML("x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\n",
        "[{\"x\":{\"a\":1,\"b\":2},\"y\":{\"b\":3,\"a\":1}}]");
}

TEST(errors_have_line_and_column)
{
    static const struct {
        const char *text, *place;
    } wrong[] = {{"a: 1\n b: 2\n", "line 2, column 3"}, {"a: [1, 2\nb: 3\n", "line 2"},
        {"a: 1\na: 2\n", "line 2, column 1: the key \"a\" is there twice"},
        {"a: !!binary x\n", "not supported"}, {"a: &x [*x]\n", "too deep"}, {"a: \"\\0\"", "NUL"}};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        err e = {0};
        AUTO_JSON *j = yaml_parse(wrong[i].text, strlen(wrong[i].text), &e);
        CHECK(!j);
        CHECK_HAS(e.text, wrong[i].place);
    }
}

TEST(an_expansion_bomb_is_refused)
{
    AUTO_BUF b = {0};
    buf_str(&b, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 9; i++)
        buf_fmt(&b, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i,
            i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    err e = {0};
    CHECK(!yaml_parse(b.data, b.len, &e));
    CHECK_HAS(e.text, "too large");
}

static void check_round(const char *json)
{
    err e = {0};
    AUTO_JSON *j = json_parse(json, strlen(json), &e);
    CHECK_OK(j, e);
    AUTO_BUF text = {0};
    yaml_print(&text, j);
    AUTO_JSON *again = yaml_parse(buf_cstr(&text), text.len, &e);
    if (!again || !json_equal(again->child, j))
        tap_fail(__FILE__, __LINE__, "%s printed as: %s", json, buf_cstr(&text));
}

TEST(any_text_reads_back)
{
    check_round("{\"two\\nlines\": 1}");
    check_round("{\"a\": {\"b\": \"\\n  first line is empty\"}}");
    check_round("{\"a\": \"del \x7f\", \"b\": \"next line \xc2\x85, separator \xe2\x80\xa8x\"}");
    check_round("{\"a\": \"\xef\xbb\xbf mark\", \"b\": \"\\u0001\\nx\"}");
    check_round("\"two\\nlines at the top\"");
    static const char *const texts[] = {"-c", "-", "- x", "?x", "? x", ":x", ":", "a:", "a #b",
        "'q'", "it's", "---", "--- a", "...", "12:30", "8080:80", "2020-1-2", "1234-abcd", "<<",
        "=", " a", "a ", "a,b", "{a}", "%a", "@a", "`a", "a \nb\n", "a\nb ", "1_000", "0b11", "+x",
        "tRue"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        AUTO_JSON *j = cJSON_CreateObject();
        json_set_str(j, "a", texts[i]);
        json_set_int(j, texts[i], 1);
        AUTO_BUF json = {0};
        json_print(&json, j);
        check_round(buf_cstr(&json));
    }
}

TEST(prints_as_kubectl_and_reads_back)
{
    const char *json =
        "{\"b\":[{\"x\":1,\"y\":\"yes\"},[1,2],[]],\"a\":{\"t\":\"one\\ntwo\\n\",\"e\":{},"
        "\"n\":null,\"s\":\"a: b\",\"v\":\"1.0\",\"d\":\"2020-01-02T03:04:05Z\"}}";
    AUTO_JSON *j = json_parse(json, strlen(json), NULL);
    CHECK(j);
    AUTO_BUF out = {0};
    yaml_print(&out, j);
    CHECK_STR(out.data, "a:\n  d: \"2020-01-02T03:04:05Z\"\n  e: {}\n  \"n\": null\n  s: 'a: b'\n"
                        "  t: |\n    one\n    two\n  v: \"1.0\"\nb:\n- x: 1\n  \"y\": \"yes\"\n"
                        "- - 1\n  - 2\n- []\n");
    AUTO_JSON *back = yaml_parse(out.data, out.len, NULL);
    CHECK(back && json_equal(json_path(back, "[0]"), j));
}

int main(void)
{
    return tap_run();
}
