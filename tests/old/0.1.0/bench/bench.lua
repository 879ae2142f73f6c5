-- ---
-- jupyter:
--   kernelspec:
--     display_name: Firesteel (Lua)
--     language: lua
--     name: firesteel
-- ---

-- %% [markdown]
-- # Saved by the workbench
-- Text with *marks*.

-- %% tags=["parameters"]
units = 4 -- of the layer

-- %% A table
display.table { { name = "a", size = 1 }, { name = "b", size = 22 } }
print("units", units)

-- %% A picture
display.image("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><circle r='4' cx='4' cy='4'/></svg>", { alt = "a dot" })
display.plot { loss = { 0.9, 0.5, 0.3 } }

-- %% Shell language="bash"
-- echo "from the shell"

-- %% A mistake tags=["raises-exception"]
error "as told"

-- %% [raw]
-- kept as it is
