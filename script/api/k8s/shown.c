// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/json/tabletext.h"
#include "script/api/k8s/k8s.h"

int k8s_show_table(call *c, cJSON *table, cJSON **result)
{
    AUTO_BUF text = {0};
    cJSON *data = cJSON_CreateObject();
    json_set_bool(table, "still", true);
    tabletext_print(table, clock_wall(), &text);
    json_set_str(data, "text/plain", buf_cstr(&text));
    json_set(data, "application/vnd.firesteel.table+json", table);
    display *d = call_display(c, data, true);
    *result = cJSON_CreateObject();
    json_set_int(*result, "display", display_id(d));
    display_close(d, NULL); // it stays as it is
    return 0;
}
