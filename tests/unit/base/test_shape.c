// SPDX-License-Identifier: MIT
#include "base/json/shape.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "tests/support/tap.h"

static const struct shape_field inner[] = {
    {"token", &shape_string}, {"flag", &shape_bool}, {"data", &shape_base64}, {0}};
static const struct shape_field fields[] = {{"name", &shape_string}, {"words", &shape_strings},
    {"list", SHAPE_LIST_OF(SHAPE_OBJECT_OF(inner))}, {"map", SHAPE_MAP_OF(&shape_strings)},
    {"any", &shape_any}, {0}};
static const struct shape whole = {SHAPE_OBJECT, .fields = fields};

static int check(const char *text, err *e)
{
    AUTO_JSON *documents = yaml_parse(text, strlen(text), e);
    CHECK(documents);
    return shape_check(&whole, documents->child, text, strlen(text), e);
}

TEST(right_types_nulls_and_unknown_fields_pass)
{
    static const char *const texts[] = {"{}", "name: x\nother: 5\nmore: [1]\n",
        "name:\nwords: ~\nlist:\nmap: null\n",
        "list: [{token: a, flag: true, data: aGk=, x: 1}, ~]\n",
        "map: {a: [x], b: ~}\nwords: [a, ~]\n", "any: {deep: [1, {x: y}]}\n", "list: []\nmap: {}\n",
        "list: [{data: \"aG\\nk=\\n\"}]\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        err e = {0};
        CHECK_OK(check(texts[i], &e) == 0, e);
    }
}

TEST(a_wrong_type_has_a_place_and_a_remedy_and_shows_no_value)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"name: 99887766",
            "line 1, column 7: name must be a text, and is a number: write it in quotes"},
        {"name: yes", "name must be a text, and is true or false: write it in quotes"},
        {"name: [x]", "name must be a text, and is a list"},
        {"list:\n- {token: a}\n- token: 99887766\n",
            "line 3, column 10: list[1].token must be a text, and is a number"},
        {"list:\n  token: a\n", "line 2, column 3: list must be a list, and is a mapping"},
        {"list: [x]", "list[0] must be a mapping, and is a text"},
        {"list: [{flag: 'true'}]",
            "list[0].flag must be true or false, and is a text: write it without"},
        {"list: [{flag: 1}]", "list[0].flag must be true or false, and is a number"},
        {"list: [{data: '!99887766'}]", "line 1, column 15: list[0].data is not base64"},
        {"words: [a, 99887766]", "line 1, column 12: words[1] must be a text, and is a number"},
        {"map: {\"a b\": [x, 99887766]}", "map[\"a b\"][1] must be a text"},
        {"map: {a.b/c: 99887766}", "map[\"a.b/c\"] must be a list"},
        {"{\"name\":\t{}}", "line 1, column 10: name must be a text, and is a mapping"},
        {"x: &x {name: 99887766}\n<<: *x\n", "line 1, column 1: name must be a text"},
        {"x: &x [{token: 99887766}]\nlist: *x\n", "line 2, column 7: list[0].token must be a text"},
        {"---\n# nothing\n---\nname: 99887766\n", "line 4, column 7: name must be"},
        {"- 1", "line 1, column 1: it must be a mapping, and is a list"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = {0};
        if (check(cases[i].text, &e) == 0)
            tap_fail(__FILE__, __LINE__, "%s passes", cases[i].text);
        CHECK_HAS(e.text, cases[i].error);
        CHECK(!strstr(e.text, "99887766"));
    }
}

int main(void)
{
    return tap_run();
}
