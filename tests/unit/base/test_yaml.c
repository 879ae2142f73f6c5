// SPDX-License-Identifier: MIT
#include "base/json/yaml.h"
#include "base/mem.h"
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

// What sigs.k8s.io/yaml 1.6 makes of each: ./check wire compares more of them, and whole files.
TEST(scalars_are_read_as_kubectl_reads_them)
{
    CHECK_YAML("[yes, No, on, TRUE, y, N, 'yes', \"n\"]",
        "[[true,false,true,true,true,false,\"yes\",\"n\"]]");
    CHECK_YAML("[~, null, '', Null, nUll]", "[[null,null,\"\",null,\"nUll\"]]");
    CHECK_YAML("[12, 0777, 0o17, 0x1F, 0b11, 1_000, +3, -4]", "[[12,511,15,31,3,1000,3,-4]]");
    CHECK_YAML(
        "[0X1F, 0B101, 0O17, -0b11, 0_7, 08, 0b2, 0x, -0]", "[[31,5,15,-3,7,8,\"0b2\",\"0x\",0]]");
    CHECK_YAML("[1.5, 1e3, .5, 1., 1.2.3, 3.5.7, 1e, ., -, +.5, 1e3_0]",
        "[[1.5,1000,0.5,1,\"1.2.3\",\"3.5.7\",\"1e\",\".\",\"-\",0.5,1e+30]]");
    CHECK_YAML("[2020-01-02, 1g, 12:30, 089]", "[[\"2020-01-02\",\"1g\",\"12:30\",89]]");
    CHECK_YAML("[9223372036854775807, 18446744073709551615, 0xffffffffffffffff]",
        "[[9223372036854775807,18446744073709551615,18446744073709551615]]");
    CHECK_YAML("[-9223372036854775808, 18446744073709551616, 1e999, .1e999]",
        "[[-9223372036854775808,1.8446744073709552e+19,\"1e999\",\".1e999\"]]");
    CHECK_YAML("[_1, _12, 1_, 1__2, ._5]", "[[\"_1\",\"_12\",1,12,\"._5\"]]");
    CHECK_YAML("{1: a, true: b, 1.5: c, 1e21: d, 3.14159265358979: e, 0.00001: f}",
        "[{\"1\":\"a\",\"true\":\"b\",\"1.5\":\"c\",\"1e+21\":\"d\",\"3.1415927\":\"e\",\"1e-05\":"
        "\"f\"}]");
}

TEST(letters_may_be_texts)
{
    static const char text[] = "{n: y, Y: [N, yes, 'n', on]}";
    err e = {0};
    AUTO_JSON *j = yaml_parse_letters(text, strlen(text), &e);
    CHECK_OK(j, e);
    AUTO_FREE char *json = json_to_str(j);
    CHECK_STR(json, "[{\"n\":\"y\",\"Y\":[\"N\",true,\"n\",true]}]");
}

TEST(numbers_have_any_length)
{
    AUTO_BUF text = {0};
    buf_str(&text, "[");
    for (int i = 0; i < 90; i++)
        buf_char(&text, '1');
    buf_str(&text, ", 0.");
    for (int i = 0; i < 100; i++)
        buf_char(&text, '0');
    buf_str(&text, "1]");
    CHECK_YAML(buf_cstr(&text), "[[1.111111111111111e+89,1e-101]]");
}

TEST(tags_say_what_a_scalar_is)
{
    CHECK_YAML("[!!str 8080, !!str yes, !!str , ! 12, &a ! yes, ! &b 1, !own 12]",
        "[[\"8080\",\"yes\",\"\",\"12\",\"yes\",\"1\",\"12\"]]");
    CHECK_YAML("é: [ü, ! 12, 12]\n", "[{\"é\":[\"ü\",\"12\",12]}]");
    CHECK_YAML("[!!binary aGk=, !!float 3, !!bool yes, !!int '12', !!null '', !!int 0x1e]",
        "[[\"hi\",3,true,12,null,30]]");
    CHECK_YAML("[!!set {a, b}, !!python/name:x.y , !!timestamp 2001-01-01]",
        "[[{\"a\":null,\"b\":null},\"\",\"2001-01-01\"]]");
}

TEST(documents_anchors_and_merges)
{
    CHECK_YAML("---\na: 1\n---\n---\nb: 2\n", "[{\"a\":1},{\"b\":2}]");
    CHECK_YAML("", "[]");
    CHECK_YAML("x: &x {a: 1, b: 2}\nz: {<<: *x, b: 3}\n",
        "[{\"x\":{\"a\":1,\"b\":2},\"z\":{\"a\":1,\"b\":3}}]");
    CHECK_YAML("x: &x {a: 1}\nz: {a: 3, <<: *x}\n", "[{\"x\":{\"a\":1},\"z\":{\"a\":1}}]");
    CHECK_YAML("x: &x {a: 1}\nz: {<<: [*x, {a: 2, b: 2}]}\n",
        "[{\"x\":{\"a\":1},\"z\":{\"a\":1,\"b\":2}}]");
    CHECK_YAML("x: &x {a: 1}\nz: {'<<': *x}\n", "[{\"x\":{\"a\":1},\"z\":{\"<<\":{\"a\":1}}}]");
    CHECK_YAML("- &x 1\n- &x 2\n- *x\n", "[[1,2,2]]");
}

TEST(the_last_line_has_an_end)
{
    CHECK_YAML("a: |\n  x\n  y", "[{\"a\":\"x\\ny\\n\"}]");
    CHECK_YAML("a: |-\n  x", "[{\"a\":\"x\"}]");
    CHECK_YAML("a: x", "[{\"a\":\"x\"}]");
}

TEST(json_values_may_stand_one_behind_the_other)
{
    CHECK_YAML("{\"a\":1}\n{\"b\":\"}\\\"{\"}\n", "[{\"a\":1},{\"b\":\"}\\\"{\"}]");
    CHECK_YAML("{\"a\":\"\\ud83d\\ude00\"}", "[{\"a\":\"😀\"}]");
}

// 30,000 keys took seconds when each was looked for among all before it. Deep nests of merges, too.
TEST(a_mapping_of_many_keys_is_read)
{
    AUTO_BUF text = {0};
    for (int i = 0; i < 100000; i++)
        buf_fmt(&text, "key-%d: v\n", i);
    err e = {0};
    AUTO_JSON *j = yaml_parse(text.data, text.len, &e);
    CHECK_OK(j, e);
    CHECK_INT(cJSON_GetArraySize(j->child), 100000);
    buf_str(&text, "key-77777: again\n");
    CHECK(!yaml_parse(text.data, text.len, &e));
    CHECK_HAS(e.text, "line 100001, column 1: the key \"key-77777\" is there twice");
}

TEST(errors_have_line_and_column)
{
    static const struct {
        const char *text, *place;
    } wrong[] = {{"a: 1\n b: 2\n", "line 2, column 3"}, {"a: [1, 2\nb: 3\n", "line 2"},
        {"a: 1\na: 2\n", "line 2, column 1: the key \"a\" is there twice"},
        {"{\"a\":1,\"a\":2}", "the key \"a\" is there twice"},
        {"1: 1\n'1': 2\n", "the key \"1\" is there twice"},
        {"a: !!binary x\n", "line 1, column 4: not base64"},
        {"a: !!int x\n", "line 1, column 4: what follows is no !!int"},
        {"a: !!bool 1\n", "no !!bool"},
        {"a: .inf\n", "“.inf” is a number that JSON has no form for"},
        {"~: 1\n", "line 1, column 1: a key must be a plain value"}, {"[a]: 1\n", "a plain value"},
        {"a: {<<: 1}\n", "line 1, column 5: << merges mappings only"},
        {"a: &x [*x]\n",
            "line 1, column 8: the alias *x stands for something that it is a part of"},
        {"a: *x\n", "line 1, column 4: the alias *x has no anchor before it"},
        {"a: \"\\0\"", "NUL"}};
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
