// SPDX-License-Identifier: MIT
#include "base/json/json.h"
#include "base/json/jsonpointer.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tap.h"

static char *round_trip(const char *text)
{
    err e = {0};
    AUTO_JSON *j = json_parse(text, strlen(text), &e);
    CHECK_OK(j, e);
    return json_to_str(j);
}

TEST(prints_what_it_parsed)
{
    static const char *const texts[] = {"{}", "[]", "null", "[1,-2.5,1e+30,0.1]",
        "{\"b\":1,\"a\":[true,false,null]}", "\"\\\"\\\\\\n\\u0001é🔥\""};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_FREE char *back = round_trip(texts[i]);
        CHECK_STR(back, texts[i]);
    }
}

TEST(integers_of_64_bits_survive)
{
    const char *text = "{\"a\":9223372036854775807,\"b\":[-9223372036854775808,9007199254740993],"
                       "\"c\":\"9223372036854775807\",\"d\":1}";
    AUTO_FREE char *back = round_trip(text);
    CHECK_STR(back, text);
    AUTO_JSON *j = json_parse(text, strlen(text), NULL);
    CHECK_INT(json_int_or(j, "a", 0), INT64_MAX);
    int64_t v = 0;
    CHECK(json_int(json_path(j, "b[1]"), &v) && v == INT64_C(9007199254740993));
    double d = 0;
    CHECK(json_number(json_path(j, "b[1]"), &d) && d == 9007199254740992.0);
    CHECK(json_number(json_get(j, "d"), &d) && d == 1 && !json_number(json_get(j, "c"), &d));
    AUTO_JSON *n = json_new_int(INT64_MIN);
    CHECK(json_int(n, &v) && v == INT64_MIN);
}

TEST(integers_of_16_digits_are_exact)
{
    const char *text = "[8999999999999999,-8999999999999999,9007199254740991,9007199254740992,"
                       "9007199254740993,9999999999999999,1000000000000001]";
    AUTO_FREE char *back = round_trip(text);
    CHECK_STR(back, text);
    AUTO_JSON *j = json_parse(text, strlen(text), NULL);
    CHECK(cJSON_IsNumber(json_path(j, "[0]")) && cJSON_IsNumber(json_path(j, "[1]")));
    int64_t v = 0;
    CHECK(json_int(json_path(j, "[1]"), &v) && v == INT64_C(-8999999999999999));
    CHECK(json_int(json_path(j, "[4]"), &v) && v == INT64_C(9007199254740993));
    CHECK(json_int(json_path(j, "[5]"), &v) && v == INT64_C(9999999999999999));
}

// The shortest of 15, 16 and 17 digits that gives the number back.
TEST(decimals_are_printed_with_the_digits_they_have)
{
    static const double values[] = {0.1, 5.13906, -0.043913, 0.0001, 0.00012, 0.000123, 1e-5,
        0.0000001, 1.5, 123456789.123457, 999999999.999999, 1000000000.000001, 0.1 + 0.2, 1.0 / 3,
        2.000001, -3.5e-4, 1e15 + 0.5, 1e300, 5e-324};
    for (size_t i = 0; i < ARRAY_LEN(values) + 2000; i++) {
        double value = i < ARRAY_LEN(values) ? values[i] : (double)(i * i * 7919) / 1e6;
        char expected[40];
        int precision = 15;
        do
            snprintf(expected, sizeof expected, "%.*g", precision, value);
        while (strtod(expected, NULL) != value && precision++ < 17);
        AUTO_JSON *j = cJSON_CreateNumber(value);
        AUTO_FREE char *text = json_to_str(j);
        if (value != (double)(int64_t)value)
            CHECK_STR(text, expected);
    }
}

// A literal is not copied; what else names a member may go.
TEST(names_that_are_literals_are_not_copied)
{
    AUTO_JSON *j = cJSON_CreateObject();
    char name[] = "changes";
    json_set_str(j, "lasts", "one");
    json_set_int(j, name, 2);
    strcpy(name, "*******");
    CHECK(j->child->type & cJSON_StringIsConst);
    CHECK(!(j->child->next->type & cJSON_StringIsConst));
    json_set_str(j, "lasts", "two");
    json_set_bool(j, "changes", true);
    AUTO_FREE char *text = json_to_str(j);
    CHECK_STR(text, "{\"lasts\":\"two\",\"changes\":true}");
}

TEST(integers_of_any_length_keep_their_digits)
{
    const char *text = "[18446744073709551615,-9223372036854775809,100000000000000000000000000001]";
    AUTO_FREE char *back = round_trip(text);
    CHECK_STR(back, text);
    AUTO_JSON *j = json_parse(text, strlen(text), NULL);
    int64_t v;
    CHECK(!json_int(json_path(j, "[0]"), &v));
}

TEST(what_is_replaced_may_lend_its_name)
{
    AUTO_JSON *object = cJSON_CreateObject();
    json_set_int(object, "name", 1);
    AUTO_JSON *other = cJSON_CreateObject();
    json_set_int(other, "name", 2);
    cJSON *item = cJSON_DetachItemViaPointer(other, other->child);
    json_set(object, item->string, item);
    json_set(object, object->child->string, cJSON_CreateString("three"));
    AUTO_FREE char *text = json_to_str(object);
    CHECK_STR(text, "{\"name\":\"three\"}");
}

TEST(bad_text_is_told_with_its_place)
{
    static const struct {
        const char *text, *place;
    } wrong[] = {{"{\"a\": 1,\n \"b\" 2}", "line 2, column 6"}, {"", "ends too early"},
        {"[1, 2", "ends too early"}, {"[1] x", "line 1, column 5"}, {"\"\xff\"", "UTF-8"},
        {"\"a\\u0000b\"", "\\u0000"}, {"\"a\nb\"", "control character"},
        {"{1: 2}", "line 1, column"}, {"{12345678901234567 :1}", "line 1, column"},
        {"[12345678901234567, x]", "column 21"}, {"[1, 01]", "column 5: a number"},
        {"-", "a number"}, {"[1.]", "a number"}, {"1e", "a number"}, {"[-.5]", "a number"},
        {"1.5.2", "a number"}, {"[00012345678901234567]", "a number"}};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        err e = {0};
        AUTO_JSON *j = json_parse(wrong[i].text, strlen(wrong[i].text), &e);
        CHECK(!j);
        CHECK_INT(e.code, ERR_INVALID);
        CHECK_HAS(e.text, wrong[i].place);
    }
    AUTO_BUF deep = {0};
    for (int i = 0; i < 100000; i++)
        buf_char(&deep, '[');
    CHECK(!json_parse(deep.data, deep.len, NULL));
}

TEST(members_are_put_in_order_at_every_level)
{
    AUTO_JSON *j = tap_yaml("[{b: {z: 1, a: [{d: 1, c: 2}]}, a: x, B: null}, {}, 1]");
    AUTO_BUF out = {0};
    json_sort(j);
    json_print(&out, j);
    CHECK_STR(buf_cstr(&out),
        "[{\"B\":null,\"a\":\"x\",\"b\":{\"a\":[{\"c\":2,\"d\":1}],\"z\":1}},{},1]");
}

TEST(canonical_text_sorts_keys)
{
    AUTO_JSON *a = json_parse("{\"z\":{\"b\":1,\"a\":2},\"c\":3}", 25, NULL);
    AUTO_JSON *b = json_parse("{\"c\":3,\"z\":{\"a\":2,\"b\":1}}", 25, NULL);
    CHECK(a && b && json_equal(a, b));
    AUTO_BUF out = {0};
    json_print_canonical(&out, a);
    CHECK_STR(out.data, "{\"c\":3,\"z\":{\"a\":2,\"b\":1}}");
}

TEST(what_is_printed_is_utf8)
{
    AUTO_JSON *j = cJSON_CreateObject();
    json_set_str(j, "k\xe9y", "\xff caf\xe9 \xe2\x82");
    json_set_str(j, "good", "\xf0\x9f\x94\xa5 \xc3\xa9");
    AUTO_BUF out = {0}, sorted = {0};
    json_print(&out, j);
    CHECK_STR(out.data,
        "{\"k\xef\xbf\xbdy\":\"\xef\xbf\xbd caf\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\","
        "\"good\":\"\xf0\x9f\x94\xa5 \xc3\xa9\"}");
    AUTO_JSON *again = json_parse(out.data, out.len, NULL);
    CHECK(again);
    json_print_canonical(&sorted, j);
    CHECK(utf8_valid(sorted.data, sorted.len));
}

TEST(getters_and_setters)
{
    AUTO_JSON *j = cJSON_CreateObject();
    json_set_str(json_object_at(json_object_at(j, "a"), "b"), "c", "x");
    json_set_str(json_object_at(json_object_at(j, "a"), "b"), "c", "y");
    CHECK_STR(json_path_str(j, "a.b.c"), "y");
    CHECK(!json_path(j, "a.x.c") && !json_path_str(j, "a.b"));
    json_set_bool(j, "t", true);
    CHECK(json_bool_or(j, "t", false) && !json_bool_or(j, "u", false));
    cJSON_AddItemToArray(json_array_at(j, "l"), json_new_int(7));
    CHECK_INT(json_path(j, "l[0]")->valueint, 7);
    CHECK(!json_path(j, "l[1]"));
}

TEST(a_pointer_names_a_place)
{
    static const char text[] = "{\"a/b\":{\"~\":[1,{\"c\":2}]}}";
    AUTO_JSON *j = json_parse(text, strlen(text), NULL);
    AUTO_BUF at = {0}, said = {0};
    json_pointer_add(&at, "a/b");
    json_pointer_add(&at, "~");
    CHECK_STR(buf_cstr(&at), "/a~1b/~0");
    buf_str(&at, "/1/c");
    CHECK_INT(json_pointer_get(j, buf_cstr(&at))->valueint, 2);
    CHECK(json_pointer_get(j, "") == j && !json_pointer_get(j, "/a~1b/~0/2"));
    CHECK(!json_pointer_get(j, "/a~1b/~0/01") && !json_pointer_get(j, "a"));
    json_pointer_say(&said, "/spec/containers/0/image");
    CHECK_STR(buf_cstr(&said), "spec.containers[0].image");
}

TEST(a_place_lies_in_another_by_whole_words)
{
    CHECK(json_pointer_overlap("/a/b", "/a") && json_pointer_overlap("/a", "/a/b"));
    CHECK(json_pointer_overlap("", "/a") && json_pointer_overlap("/a", "/a"));
    CHECK(!json_pointer_overlap("/a", "/a.b") && !json_pointer_overlap("/a", "/ab"));
    CHECK(!json_pointer_overlap("/a/b", "/a/c") && !json_pointer_overlap("/app", "/app~1x"));
}

int main(void)
{
    return tap_run();
}
