-- SPDX-License-Identifier: MIT
-- Cells in other languages, which a Jupyter kernel runs.
local core = ...

-- Runs a cell: by the kernel of that name, or (a wish, or no name) by another one with the language.
function core.hooks.kernel(code, language, kernel, wish)
  core.call("jupyter.cell", { code = code, language = language, kernel = kernel, wish = wish or nil })
end
