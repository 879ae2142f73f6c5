// SPDX-License-Identifier: MIT
// Tables while they change: rows by uid, filter, order, widths, columns in little room; and the
// time left that progress shows.
#include "base/clock.h"
#include "base/mem.h"
#include "base/work.h"
#include "tests/support/tap.h"
#include "tui/part/canvas.h"
#include "tui/part/line.h"
#include "tui/part/past.h"
#include "tui/part/progress.h"
#include "tui/part/scroll.h"
#include "tui/part/table/tabledata.h"
#include "tui/part/table/tablelayout.h"
#include "tui/part/table/tablevalue.h"

static tabledata *load(const char *text)
{
    AUTO_JSON *table = json_parse(text, strlen(text), NULL);
    tabledata *t = tabledata_new();
    tabledata_load(t, table);
    return t;
}

static void change(tabledata *t, const char *text)
{
    AUTO_JSON *rows = json_parse(text, strlen(text), NULL);
    tabledata_change(t, rows);
}

static void lay_out(const tabledata *t, int width, int chosen, struct table_layout *out)
{
    struct table_column columns[TABLE_COLUMNS];
    tabledata_measure(t, columns);
    table_layout(columns, tabledata_columns(t), width, chosen, 0, out);
}

// The first entries of the shown rows, in order.
static const char *names(const tabledata *t)
{
    static char out[200];
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < tabledata_count(t); i++)
        used += (size_t)snprintf(
            out + used, sizeof out - used, "%s%s", i ? " " : "", tabledata_at(t, i)->cells[0]);
    return out;
}

static const char pods[] =
    "{\"columns\":[\"NAME\",\"READY\",\"STATUS\",\"RESTARTS\",\"AGE\"],"
    "\"keep\":[\"NAME\",\"STATUS\"],\"rows\":["
    "{\"uid\":\"1\",\"cells\":"
    "[\"web-10\",\"1/1\",\"Running\",\"10\",{\"since\":\"2026-01-01T00:00:09Z\"}]},"
    "{\"uid\":\"2\",\"cells\":"
    "[\"web-9\",\"0/1\",\"Pending\",{\"since\":\"2026-01-01T00:00:01Z\",\"before\":\"9 (\","
    "\"after\":\" ago)\"},{\"since\":\"2026-01-01T00:00:01Z\"}]},"
    "{\"uid\":\"3\",\"cells\":"
    "[\"db-0\",\"1/2\",\"Running\",\"0\",{\"since\":\"2026-01-01T00:00:05Z\"}]}]}";

TEST(rows_stay_as_they_came_until_they_are_ordered)
{
    tabledata *t = load(pods);
    CHECK_STR(names(t), "web-10 web-9 db-0");
    tabledata_sort(t, 0, false);
    CHECK_STR(names(t), "db-0 web-9 web-10"); // numbers in names count
    tabledata_sort(t, 3, false);
    CHECK_STR(names(t), "db-0 web-9 web-10"); // 0, 9 (2m ago), 10
    tabledata_sort(t, 4, false);
    CHECK_STR(names(t), "web-10 db-0 web-9"); // by when it was made, not by the text
    tabledata_sort(t, 4, true);
    CHECK_STR(names(t), "web-9 db-0 web-10");
    tabledata_sort(t, 1, false);
    CHECK_STR(names(t), "web-9 db-0 web-10"); // 0, a half, 1
    tabledata_sort(t, -1, false);
    CHECK_STR(names(t), "web-10 web-9 db-0");
    tabledata_free(t);
}

TEST(changes_come_go_and_find_their_place)
{
    tabledata *t = load(pods);
    tabledata_sort(t, 0, false);
    change(t, "[{\"uid\":\"4\",\"cells\":[\"web-1\",\"1/1\",\"Running\",\"0\",\"0s\"]},"
              "{\"uid\":\"1\",\"cells\":[\"a\",\"1/1\",\"Failed\",\"10\",\"1s\"]}]");
    CHECK_STR(names(t), "a db-0 web-1 web-9");
    CHECK_INT(tabledata_find(t, "4"), 2);
    change(t, "[{\"uid\":\"3\",\"deleted\":true},{\"uid\":\"nobody\",\"deleted\":true}]");
    CHECK_STR(names(t), "a web-1 web-9");
    CHECK_INT(tabledata_total(t), 3);
    CHECK(tabledata_find(t, "3") == SIZE_MAX);
    tabledata_sort(t, -1, false);
    CHECK_STR(names(t), "a web-9 web-1"); // a changed row is where it was
    tabledata_free(t);
}

TEST(ages_are_counted_when_they_are_drawn)
{
    tabledata *t = load(pods);
    int64_t at = 0;
    AUTO_BUF words = {0};
    clock_parse_rfc3339("2026-01-01T00:01:01Z", &at, NULL);
    tabledata_entry(tabledata_at(t, 1), 3, at, &words);
    CHECK_STR(buf_cstr(&words), "9 (60s ago)");
    tabledata_entry(tabledata_at(t, 1), 4, at + 3600 * CLOCK_SEC, &words);
    CHECK_STR(buf_cstr(&words), "61m");
    tabledata_entry(tabledata_at(t, 1), 2, at, &words);
    CHECK_STR(buf_cstr(&words), "Pending");
    CHECK(tabledata_ages(t));
    tabledata_free(t);
    t = load("{\"columns\":[\"A\"],\"rows\":[{\"cells\":[\"1s\"]}]}");
    CHECK(!tabledata_ages(t));
    tabledata_free(t);
}

TEST(the_worst_come_first_when_the_table_or_a_person_asks)
{
    static const char text[] = "{\"columns\":[\"N\"],\"order\":\"sick\",\"rows\":["
                               "{\"uid\":\"1\",\"cells\":[\"well\"]},"
                               "{\"uid\":\"2\",\"sick\":6,\"cells\":[\"crashes\"]},"
                               "{\"uid\":\"3\",\"sick\":2,\"cells\":[\"failed\"]}]}";
    tabledata *t = load(text);
    CHECK_STR(names(t), "crashes failed well");
    change(t, "[{\"uid\":\"1\",\"sick\":4,\"cells\":[\"pending\"]},"
              "{\"uid\":\"2\",\"cells\":[\"heals\"]}]");
    CHECK_STR(names(t), "pending failed heals");
    tabledata_sort(t, TABLE_AS_IT_CAME, false);
    CHECK_STR(names(t), "pending heals failed");
    AUTO_JSON *again = json_parse(text, strlen(text), NULL);
    tabledata_load(t, again); // what a person has chosen stays
    CHECK_STR(names(t), "well crashes failed");
    tabledata_free(t);
}

TEST(names_stand_in_natural_order_where_the_table_asks)
{
    static const char text[] =
        "{\"columns\":[\"NAMESPACE\",\"NAME\",\"STATUS\"],\"natural\":true,\"rows\":["
        "{\"uid\":\"1\",\"cells\":[\"a10\",\"web-1\",\"Running\"]},"
        "{\"uid\":\"2\",\"cells\":[\"a9\",\"web-10\",\"Running\"]},"
        "{\"uid\":\"3\",\"cells\":[\"a9\",\"web-2\",\"Error\"]}]}";
    tabledata *t = load(text);
    CHECK_STR(tabledata_at(t, 0)->uid, "3");
    CHECK_STR(tabledata_at(t, 1)->uid, "2");
    CHECK_STR(tabledata_at(t, 2)->uid, "1");
    change(t, "[{\"uid\":\"4\",\"cells\":[\"a9\",\"web-3\",\"Running\"]}]");
    CHECK_STR(tabledata_at(t, 1)->uid, "4");
    tabledata_sort(t, 2, true); // equal ones stay in that order
    CHECK_STR(tabledata_at(t, 0)->uid, "4");
    CHECK_STR(tabledata_at(t, 1)->uid, "2");
    CHECK_STR(tabledata_at(t, 3)->uid, "3");
    tabledata_free(t);
}

TEST(wide_columns_come_where_there_is_room_and_they_say_something)
{
    tabledata *t = load("{\"columns\":[\"NAME\",{\"name\":\"WHY\",\"wide\":true},"
                        "{\"name\":\"GATES\",\"wide\":true},{\"name\":\"NODE\",\"wide\":true}],"
                        "\"rows\":[{\"cells\":[\"a-pod\",\"exit 137 OOMKilled\",\"<none>\","
                        "\"node-1\"]},{\"cells\":[\"b\",\"\",\"<none>\",\"node-2\"]}]}");
    struct table_layout l;
    lay_out(t, 20, 0, &l);
    CHECK_INT(l.w[1] + l.w[2] + l.w[3], 6); // the node alone has room
    lay_out(t, 80, 0, &l);
    CHECK_INT(l.w[1], 18);
    CHECK_INT(l.w[2], 0); // nobody has one
    CHECK_INT(l.w[3], 6);
    lay_out(t, 25, 1, &l); // the one that is chosen is whole
    CHECK_INT(l.w[1], 18);
    tabledata_free(t);
}

// Ten columns of a column's twelve, or as many of them as stand before or behind its edge.
static const char *seen(int from, int w, const char *words, bool right)
{
    static buf out;
    grid *g = grid_new(10, 1);
    buf_clear(&out);
    table_put(g, (rect){0, 0, w, 1}, (rect){from, 0, 12, 1},
        &(struct table_entry){.words = words, .right = right});
    grid_row_text(g, 0, &out);
    grid_free(g);
    return buf_cstr(&out);
}

TEST(what_is_cut_at_an_edge_is_marked)
{
    CHECK_STR(seen(0, 10, "12012", false), "12012");
    CHECK_STR(seen(-1, 10, "12012", false), "…012");
    CHECK_STR(seen(7, 10, "12012", false), "       12…");
    CHECK_STR(seen(9, 10, "12012", false), "         …");
    CHECK_STR(seen(-2, 10, "12012", true), "     12012");
    CHECK_STR(seen(0, 10, "12012", true), "       12…");
    CHECK_STR(seen(-6, 10, "7", false), "…"); // of a value that is all outside, too
    CHECK_STR(seen(0, 10, "7", true), "         …");
    CHECK_STR(seen(-6, 10, "", false), ""); // there is none
    CHECK_STR(seen(-12, 10, "12012", false), "");
    CHECK_STR(seen(-1, 10, "漢字漢", false), "…字漢");
    CHECK_STR(seen(-3, 4, "abcdefghijkl", false), "…ef…");
}

TEST(late_columns_come_when_all_others_have_come)
{
    tabledata *t = load("{\"columns\":[\"NAME\",{\"name\":\"LATE\",\"wide\":true,\"late\":true},"
                        "{\"name\":\"WHY\",\"wide\":true},{\"name\":\"NODE\",\"wide\":true}],"
                        "\"rows\":[{\"cells\":[\"a-pod\",\"50%\",\"exit 1\",\"node-1\"]}]}");
    struct table_layout l;
    lay_out(t, 22, 0, &l); // there would be room for LATE in the place of one of the others
    CHECK_INT(l.w[1], 0);
    CHECK_INT(l.w[2], 6);
    CHECK_INT(l.w[3], 6);
    lay_out(t, 14, 0, &l); // one of them is not there
    CHECK_INT(l.w[1], 0);
    lay_out(t, 26, 0, &l);
    CHECK_INT(l.w[1], 4);
    CHECK_INT(l.x[1], 6); // in its place
    tabledata_free(t);
}

TEST(what_is_no_number_has_a_place_too)
{
    tabledata *t = load("{\"columns\":[\"N\",\"X\"],\"rows\":["
                        "{\"uid\":\"1\",\"cells\":[\"a\",\"1\"]},"
                        "{\"uid\":\"2\",\"cells\":[\"b\",\"-nan\"]},"
                        "{\"uid\":\"3\",\"cells\":[\"c\",\"2\"]},"
                        "{\"uid\":\"4\",\"cells\":[\"d\",\"\"]}]}");
    tabledata_sort(t, 1, false);
    CHECK_STR(names(t), "a c b d");
    change(t, "[{\"uid\":\"3\",\"cells\":[\"c\",\"-nan\"]},{\"uid\":\"1\",\"deleted\":true}]");
    CHECK_STR(names(t), "b c d");
    change(t, "[{\"uid\":\"2\",\"deleted\":true},{\"uid\":\"3\",\"cells\":[\"c\",\"0\"]}]");
    CHECK_STR(names(t), "c d");
    tabledata_free(t);
}

TEST(a_filter_holds_while_rows_change)
{
    tabledata *t = load(pods);
    tabledata_filter(t, "run", 0);
    CHECK_STR(names(t), "web-10 db-0");
    tabledata_filter(t, "RUN", 0); // capitals are exact
    CHECK_STR(names(t), "");
    tabledata_filter(t, "^(web|db)-[0-9]$", 0);
    CHECK_STR(names(t), "web-9 db-0");
    tabledata_filter(t, "!^web", 0);
    CHECK_STR(names(t), "db-0");
    tabledata_filter(t, "run", 0);
    change(t, "[{\"uid\":\"2\",\"cells\":[\"web-9\",\"1/1\",\"Running\",\"9\",\"9s\"]},"
              "{\"uid\":\"3\",\"cells\":[\"db-0\",\"0/2\",\"Error\",\"0\",\"5s\"]}]");
    CHECK_STR(names(t), "web-10 web-9");
    CHECK(tabledata_find(t, "3") == SIZE_MAX);
    tabledata_filter(t, "!running", 0);
    CHECK_STR(names(t), "db-0");
    tabledata_filter(t, "!", 0);
    CHECK_INT(tabledata_count(t), 3);
    tabledata_filter(t, "", 0);
    CHECK_STR(names(t), "web-10 web-9 db-0");
    tabledata_free(t);
}

TEST(of_rows_with_one_uid_the_last_counts)
{
    tabledata *t =
        load("{\"columns\":[\"NAME\"],\"rows\":[{\"uid\":\"1\",\"cells\":[\"old-and-long\"]},"
             "{\"uid\":\"\",\"cells\":[\"x\"]},{\"uid\":\"2\",\"cells\":[\"b\"]},"
             "{\"uid\":\"\",\"cells\":[\"y\"]},{\"uid\":\"1\",\"cells\":[\"new\"]}]}");
    CHECK_STR(names(t), "new x b y");
    CHECK_INT(tabledata_total(t), 4);
    CHECK_INT(tabledata_width(t, 0), 4);
    tabledata_filter(t, "!new", 0);
    CHECK_STR(names(t), "x b y");
    CHECK(tabledata_find(t, "1") == SIZE_MAX && tabledata_find(t, "") == SIZE_MAX);
    change(t, "[{\"uid\":\"1\",\"cells\":[\"c\"]},{\"uid\":\"\",\"cells\":[\"z\"]}]");
    CHECK_STR(names(t), "c x b y z");
    tabledata_free(t);
}

TEST(widths_shrink_when_the_widest_goes)
{
    tabledata *t = load(pods);
    CHECK_INT(tabledata_width(t, 0), 6);
    change(t, "[{\"uid\":\"5\",\"cells\":[\"a-very-long-name\",\"\",\"\",\"\",\"\"]}]");
    CHECK_INT(tabledata_width(t, 0), 16);
    change(t, "[{\"uid\":\"5\",\"deleted\":true}]");
    CHECK_INT(tabledata_width(t, 0), 6);
    CHECK_INT(tabledata_width(t, 3), 13); // "9 (2m10s ago)"
    tabledata_free(t);
}

TEST(what_matters_stays_in_little_room)
{
    struct table_layout l;
    tabledata *t = load(pods);
    change(t, "[{\"uid\":\"6\",\"cells\":[\"mnist-2be6ff204f460192-exec-1\",\"1/1\","
              "\"ContainerCreating\",\"0\",\"1s\"]}]");
    lay_out(t, 80, 0, &l);
    for (int i = 0; i < 5; i++)
        CHECK_INT(l.w[i], tabledata_width(t, i));
    lay_out(t, 80, 3, &l);
    CHECK_INT(l.first + l.missing, 0); // all of it is there
    lay_out(t, 38, 0, &l);
    CHECK(l.w[0] >= 12 && l.w[2] >= 12);
    CHECK_INT(l.w[1], 5);
    CHECK_INT(l.w[3], 0);
    CHECK_INT(l.w[4], 0);
    CHECK_INT(l.missing, 2);
    CHECK(l.x[2] + l.w[2] <= 38);
    lay_out(t, 10, 0, &l);
    CHECK_INT(l.w[0], 10);
    CHECK_INT(l.w[2], 0);
    tabledata_free(t);
}

// Twelve columns of 6 to 17 columns of the screen.
static tabledata *load_wide(void)
{
    return load("{\"columns\":[\"c00\",\"c01\",\"c02\",\"c03\",\"c04\",\"c05\",\"c06\",\"c07\","
                "\"c08\",\"c09\",\"c10\",\"c11\"],\"rows\":[[\"000000\",\"1111111\",\"22222222\","
                "\"333333333\",\"4444444444\",\"55555555555\",\"666666666666\",\"7777777777777\","
                "\"88888888888888\",\"999999999999999\",\"aaaaaaaaaaaaaaaa\","
                "\"bbbbbbbbbbbbbbbbb\"]]}");
}

TEST(a_chosen_column_is_whole_and_so_are_those_beside_it)
{
    struct table_column columns[TABLE_COLUMNS];
    struct table_layout l = {0};
    tabledata *t = load_wide();
    int n = tabledata_columns(t), first = 0;
    tabledata_measure(t, columns);
    for (int step = -n + 1; step < n; step++) { // to the last one and back to the first
        int chosen = step < 0 ? n + step - 1 : n - 1 - step;
        table_layout(columns, n, 40, chosen, first, &l);
        CHECK(l.w[chosen] > 0 && l.x[chosen] + l.w[chosen] <= 40);
        CHECK_INT(l.x[0], 0);
        int missing = 0;
        for (int i = 0; i < n; i++) {
            missing += l.w[i] == 0;
            CHECK(!l.w[i] || !l.first || l.w[i] == columns[i].width); // no stub of one
        }
        CHECK_INT(l.missing, missing);
        first = l.first;
    }
    CHECK_INT(first, 0); // as at first
    columns[3].hidden = true;
    table_layout(columns, n, 40, 4, 0, &l);
    CHECK_INT(l.w[3], 0);
    CHECK_INT(l.w[4], 10);
    tabledata_free(t);
}

TEST(a_column_that_is_wider_than_the_screen_has_all_of_it)
{
    struct table_layout l;
    tabledata *t = load(pods);
    change(t, "[{\"uid\":\"6\",\"cells\":[\"mnist-2be6ff204f460192-exec-1\",\"1/1\","
              "\"ContainerCreating\",\"0\",\"1s\"]}]");
    lay_out(t, 38, 3, &l);
    CHECK_INT(l.w[0], 19); // half of it at most
    CHECK_INT(l.w[3], tabledata_width(t, 3));
    lay_out(t, 20, 2, &l);
    CHECK_INT(l.x[2] + l.w[2], 20);
    tabledata_free(t);
}

TEST(conditions_on_columns)
{
    tabledata *t = load("{\"columns\":[\"NAME\",\"MEM\",\"Day\",\"loss\",\"two words\"],\"rows\":["
                        "[\"web-1\",\"512Mi\",\"2026-01-02T10:00:00Z\",\"0.5\",\"A b\"],"
                        "[\"web-2\",\"2Gi\",\"2026-02-01 08:00\",\"nan\",\"\"],"
                        "[\"db\",\"\",\"2026-02-03\",\"-1e-3\",\"c\"]]}");
    static const struct {
        const char *words, *rows;
    } cases[] = {{"MEM>600Mi", "web-2"}, {"mem<=512Mi", "web-1"}, {"MEM!=512Mi", "web-2 db"},
        {"MEM=''", "db"}, {"loss<0", "db"}, {"loss = nan", "web-2"}, {"loss>=0.5", "web-1"},
        {"day>2026-01", "web-2 db"}, {"day=2026-02", "web-2 db"},
        {"day<2026-02-01T09", "web-1 web-2"}, {"day>=2026-02-02 and MEM=''", "db"},
        {"NAME~^web-[0-9]$", "web-1 web-2"}, {"name!~WEB", "db"}, {"'two words'='a b'", "web-1"},
        {"\"two words\"=A", ""}, {"NAME=WEB-1", ""}, {"NAME=web-1", "web-1"},
        {"NAME>", "web-1 web-2 db"}, {"NAME", ""}, {"none>3", ""}, {"web", "web-1 web-2"},
        {"!web", "db"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tabledata_filter(t, cases[i].words, 0);
        CHECK_STR(names(t), cases[i].rows);
    }
    tabledata_filter(t, "none>3", 0);
    CHECK_STR(tabledata_filtered(t)->wrong, "there is no column none");
    tabledata_filter(t, "MEM>", 0);
    CHECK_STR(tabledata_filtered(t)->wrong, "a condition that is not complete");
    tabledata_filter(t, "", 0);
    CHECK_INT(tabledata_count(t), 3);
    tabledata_free(t);
}

TEST(conditions_on_ages_count_them_up_to_now)
{
    tabledata *t = load(pods);
    int64_t now = INT64_C(1767225610) * CLOCK_SEC; // 2026-01-01T00:00:10Z
    tabledata_filter(t, "AGE<=1s", now);
    CHECK_STR(names(t), "web-10");
    tabledata_filter(t, "AGE>4s and RESTARTS=9", now);
    CHECK_STR(names(t), "web-9");
    tabledata_free(t);
}

TEST(what_is_written_for_a_condition_is_read_as_it)
{
    tabledata *t = load("{\"columns\":[\"a b\",\"=\"],\"rows\":[[\"it's\",\"1\"],[\"x\",\"\"]]}");
    AUTO_BUF words = {0};
    tablefilter_write(&words, "a b", "=", "it's");
    tabledata_filter(t, buf_cstr(&words), 0);
    CHECK_STR(names(t), "it's");
    buf_clear(&words);
    tablefilter_write(&words, "=", "=", "");
    tabledata_filter(t, buf_cstr(&words), 0);
    CHECK_STR(names(t), "x");
    tabledata_free(t);
}

TEST(more_columns_than_can_be_looked_at_are_counted)
{
    AUTO_BUF words = {0};
    buf_str(&words, "{\"columns\":[\"c\"");
    for (int i = 1; i < TABLE_COLUMNS + 7; i++)
        buf_str(&words, ",\"c\"");
    buf_str(&words, "],\"rows\":[[\"1\"]]}");
    tabledata *t = load(buf_cstr(&words));
    CHECK_INT(tabledata_columns(t), TABLE_COLUMNS);
    CHECK_INT(tabledata_left_columns(t), 7);
    tabledata_free(t);
}

TEST(tables_of_all_shapes)
{
    tabledata *t = load("{\"rows\":[[\"a\",1],[\"b\",2.5]]}");
    CHECK_STR(names(t), "a b");
    CHECK_STR(tabledata_at(t, 1)->cells[1], "2.5");
    tabledata_free(t);
    t = load("{\"columns\":[{\"name\":\"x\"}],\"rows\":[{\"x\":\"one\\ntwo\"},{\"y\":1}]}");
    CHECK_STR(tabledata_at(t, 0)->cells[0], "one two");
    CHECK_STR(tabledata_at(t, 1)->cells[0], "");
    change(t, "[{\"cells\":[\"no uid\"]}]");
    CHECK_INT(tabledata_total(t), 3);
    tabledata_free(t);
}

TEST(entries_are_worth_their_value)
{
    static const struct {
        const char *words;
        double worth;
    } good[] = {{"12", 12}, {"3.5", 3.5}, {"-1", -1}, {"40%", 40}, {"1/2", 0.5}, {"0/0", 0},
        {"2m10s", 130}, {"4d", 4 * 86400}, {"3h5m", 3 * 3600 + 300}, {"250ms", 0.25},
        {"512Mi", 512 * 1048576.0}, {"2 (5m ago)", 2}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double worth;
        CHECK(tablevalue_worth(good[i].words, &worth));
        CHECK_NEAR(worth, good[i].worth, 1e-9);
    }
    static const char *const none[] = {"", "abc", "3 blind mice", "12:30", "1.2.3", "1x", "<none>",
        "1/", "-", "-nan", "-inf", "1e999", "nan"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        double worth;
        if (tablevalue_worth(none[i], &worth))
            tap_fail(__FILE__, __LINE__, "\"%s\" is worth %g", none[i], worth);
    }
}

TEST(states_have_colours_and_sentences_none)
{
    CHECK(tablevalue_look("Running").fg != tablevalue_look("Pending").fg);
    CHECK(tablevalue_look("Init:CrashLoopBackOff").fg == tablevalue_look("FAILED").fg);
    CHECK(tablevalue_look("ContainerCreating").fg == tablevalue_look("Warning").fg);
    CHECK_INT(tablevalue_look("Error: it failed with a backoff").fg, 0);
    CHECK_INT(tablevalue_look("my-error-pod").fg, 0);
}

TEST(what_was_typed_before_comes_back)
{
    struct past p = {0};
    line *l = line_new("dra");
    past_add(&p, "one");
    past_add(&p, "two");
    past_add(&p, "one"); // moves to the end
    past_add(&p, "");
    CHECK_INT(p.n, 2);
    past_begin(&p);
    past_turn(&p, l, true);
    CHECK_STR(line_text(l), "one");
    past_turn(&p, l, true);
    past_turn(&p, l, true);
    CHECK_STR(line_text(l), "two");
    past_turn(&p, l, false);
    past_turn(&p, l, false);
    past_turn(&p, l, false);
    CHECK_STR(line_text(l), "dra");
    for (int i = 0; i < 3 * PAST_MOST; i++) {
        char words[16];
        snprintf(words, sizeof words, "%d", i);
        past_add(&p, words);
    }
    CHECK_INT(p.n, PAST_MOST);
    CHECK_STR(p.texts[PAST_MOST - 1], "149");
    line_free(l);
    past_done(&p);
}

TEST(a_place_stays_within_its_rows)
{
    struct scroll s = {0};
    scroll_fit(&s, 100, 10);
    CHECK(scroll_act(&s, ACT_ROW_LAST));
    scroll_fit(&s, 100, 10);
    CHECK_INT(s.top, 90);
    scroll_fit(&s, 5, 10); // most rows have gone
    CHECK_INT(s.at, 4);
    CHECK_INT(s.top, 0);
    scroll_fit(&s, 0, 10);
    CHECK_INT(s.at, 0);
    CHECK(scroll_act(&s, ACT_ROW_NEXT));
    CHECK_INT(s.at, 0);
    CHECK(!scroll_act(&s, ACT_SAVE));
    s = (struct scroll){0};
    scroll_fit_text(&s, 30, 10);
    scroll_act(&s, ACT_ROW_LAST);
    scroll_fit_text(&s, 30, 10);
    CHECK_INT(s.top, 20);
}

static struct progress progress(const char *text)
{
    AUTO_JSON *json = json_parse(text, strlen(text), NULL);
    return progress_read(json);
}

TEST(time_left_is_that_of_all_epochs)
{
    struct progress p = progress("{\"done\":100,\"total\":1000,\"epoch\":2,\"epochs\":5,"
                                 "\"first\":1,\"elapsed\":11}");
    CHECK_NEAR(progress_fraction(&p), 0.22, 1e-9);
    CHECK_NEAR(progress_rate(&p), 100, 1e-9);
    CHECK_NEAR(progress_left(&p), 39, 1e-9);
    p = progress("{\"done\":0,\"total\":10,\"elapsed\":0}");
    CHECK(isnan(progress_left(&p)));
    p = progress("{\"done\":3,\"total\":10}");
    CHECK(isnan(progress_left(&p)) && isnan(progress_rate(&p)));
    p = progress("{\"done\":5,\"elapsed\":1}");
    CHECK(isnan(progress_fraction(&p)) && isnan(progress_left(&p)));
    // one that went on with epoch 3 has not done the first two in its time
    p = progress("{\"done\":10,\"total\":10,\"epoch\":3,\"epochs\":4,\"first\":3,\"elapsed\":5}");
    CHECK_NEAR(progress_left(&p), 5, 1e-9);
    p = progress("{\"done\":20,\"total\":10,\"elapsed\":5}");
    CHECK_NEAR(progress_left(&p), 0, 1e-9);
}

TEST(times_and_rates_are_short)
{
    AUTO_BUF out = {0};
    work_time_text(&out, 9.04);
    buf_char(&out, ' ');
    work_time_text(&out, 59.4);
    buf_char(&out, ' ');
    work_time_text(&out, 65);
    buf_char(&out, ' ');
    work_time_text(&out, 1e12);
    buf_char(&out, ' ');
    work_rate_text(&out, 0.314);
    buf_char(&out, ' ');
    work_rate_text(&out, 45);
    buf_char(&out, ' ');
    work_rate_text(&out, 41234);
    CHECK_STR(buf_cstr(&out), "9.0s 59s 1m05s years 0.31/s 45/s 41.2k/s");
}

TEST(many_rows_stay_in_order_while_they_change)
{
    enum { ROWS = 5000, CHANGES = 1000 };
    AUTO_BUF text = {0};
    buf_str(&text, "{\"columns\":[\"NAME\",\"STATUS\",\"AGE\"],\"rows\":[");
    for (int i = 0; i < ROWS; i++)
        buf_fmt(&text, "%s{\"uid\":\"u%d\",\"cells\":[\"pod-%d\",\"Running\",\"%dm\"]}",
            i ? "," : "", i, (i * 7919) % ROWS, i);
    buf_str(&text, "]}");
    tabledata *t = load(buf_cstr(&text));
    tabledata_sort(t, 0, false);
    tabledata_filter(t, "running", 0);
    for (int i = 0; i < CHANGES; i++) {
        AUTO_BUF row = {0};
        struct table_layout l;
        buf_fmt(&row, "[{\"uid\":\"u%d\",\"cells\":[\"pod-%d\",\"Running\",\"0s\"]}]",
            (i * 31) % ROWS, (i * 17) % ROWS);
        change(t, buf_cstr(&row));
        lay_out(t, 80, -1, &l);
        CHECK(tabledata_at(t, 0) != NULL);
    }
    CHECK_INT(tabledata_count(t), ROWS);
    for (size_t i = 1; i < ROWS; i++)
        CHECK(strverscmp(tabledata_at(t, i - 1)->cells[0], tabledata_at(t, i)->cells[0]) <= 0);
    tabledata_free(t);
}

// Six pods below a cell that has room for three, as 60 columns show them.
static void check_below(const char *order, const char *expected)
{
    static const struct {
        const char *state;
        int sick;
    } pod[] = {
        {"Running"}, {"Running"}, {"Running"}, {"Running"}, {"CrashLoopBackOff", 6}, {"Error", 2}};
    AUTO_BUF json = {0};
    AUTO_BUF shown = {0};
    buf_fmt(&json,
        "{\"application/vnd.firesteel.pods+json\":{\"columns\":[\"NAME\",\"STATUS\"],"
        "\"count\":\"STATUS\",\"many\":\"pods\",\"one\":\"pod\"%s,\"rows\":[",
        order);
    for (size_t i = 0; i < ARRAY_LEN(pod); i++)
        buf_fmt(&json, "%s{\"uid\":\"%zu\",\"sick\":%d,\"cells\":[\"web-%zu\",\"%s\"]}",
            i ? "," : "", i, pod[i].sick, i, pod[i].state);
    buf_str(&json, "]}}");
    AUTO_JSON *bundle = json_parse(json.data, json.len, NULL);
    grid *g = grid_new(60, 6);
    struct canvas c = {.grid = g, .w = 60};
    canvas_bundle(&c, bundle, true, 3);
    for (int y = 0; y < c.y; y++) {
        AUTO_BUF row = {0};
        grid_row_text(g, y, &row);
        buf_fmt(&shown, "%.*s|", (int)strcspn(buf_cstr(&row), " "), buf_cstr(&row));
    }
    CHECK_STR(buf_cstr(&shown), expected);
    grid_free(g);
}

TEST(what_is_wrong_is_not_hidden_below_a_cell)
{
    check_below("", "NAME|web-4|web-5|web-0|⋮|");
    check_below(",\"order\":\"none\"", "NAME|web-0|web-1|web-2|⋮|"); // somebody wants it so
}

TEST(rows_that_a_table_has_not_are_not_promised)
{
    AUTO_BUF shown = {0};
    static const char words[] = "{\"application/vnd.firesteel.table+json\":{\"columns\":[\"N\"],"
                                "\"rows\":[[\"1\"],[\"2\"],[\"3\"]],\"more\":2000}}";
    AUTO_JSON *bundle = json_parse(words, sizeof words - 1, NULL);
    grid *g = grid_new(70, 6);
    struct canvas c = {.grid = g, .w = 70};
    canvas_bundle(&c, bundle, true, 1);
    for (int y = 0; y < c.y; y++) {
        grid_row_text(g, y, &shown);
        buf_char(&shown, '\n');
    }
    CHECK_HAS(buf_cstr(&shown), "⋮ 2 more rows; O shows them");
    CHECK_HAS(buf_cstr(&shown), "… and 2000 more rows are not shown, nor does O show them");
    grid_free(g);
}

int main(void)
{
    return tap_run();
}
