# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Firesteel (Lua)
#     language: lua
#     name: firesteel
# ---

# %% [markdown]
# # Saved by the workbench
# Text with *marks*.

# %% tags=["parameters"] language="lua"
# units = 4 -- of the layer

# %% A table language="lua"
# display.table { { name = "a", size = 1 }, { name = "b", size = 22 } }
# print("units", units)

# %% A picture language="lua"
# display.image("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><circle r='4' cx='4' cy='4'/></svg>", { alt = "a dot" })
# display.plot { loss = { 0.9, 0.5, 0.3 } }

# %% Shell language="bash"
# echo "from the shell"

# %% A mistake tags=["raises-exception"] language="lua"
# error "as told"

# %% [raw]
# kept as it is
