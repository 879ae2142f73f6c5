// SPDX-License-Identifier: MIT
// Reads a table of HTML, as pandas, polars and others leave one of their data, as a table of ours.
// Nothing is owned.
#pragma once
#include "base/json/json.h"

// {"columns": [{"name", "align"?}], "rows": [["1", …]]}, new; NULL: the HTML is no table, or has
// more than one, or says something besides. Several rows of headings become one; what spans several
// columns or rows stands in each.
cJSON *html_table_read(const char *html);
