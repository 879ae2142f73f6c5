-- SPDX-License-Identifier: MIT
-- A tool of the build: embed -r tables.lua OUT.c FILE.c… lists the tables of bindings of these
-- files, each a `const struct binding NAME[] = {` at the left edge, as all_bindings.
local names = {}
for at = 2, #arg do
  local file <close> = assert(io.open(arg[at]))
  for line in file:lines() do names[#names + 1] = line:match "^const struct binding ([%w_]+)%[%] = {" end
end
table.sort(names)
local out <close> = assert(io.open(arg[1], "w"))
out:write('#include "script/api/bindings.h"\nextern const struct binding ', table.concat(names, "[],\n    "), "[];\n",
  "const struct binding *const all_bindings[] = {\n    ", table.concat(names, ",\n    "), ",\n    NULL,\n};\n")
