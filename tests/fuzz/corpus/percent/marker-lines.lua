-- ---
-- jupyter:
--   jupytext:
--     text_representation:
--       extension: .lua
--       format_name: percent
--       format_version: '1.3'
--       jupytext_version: 1.19.6
--   kernelspec:
--     display_name: Lua
--     language: lua
--     name: lua
-- ---

-- %% Lines that look like markers
x = 1
-- -- %% One
  -- -- -- %% two="2"
---- %% no mark more
-- --%% nor this
print [[
-- -- %%
]]

-- %% [markdown]
-- # Text
-- -- %% Comment of LaTeX
-- -- -- %%
-- ```mermaid
-- %% in a block it is no marker
-- ```

-- %% The manifest file="x.yaml" language="yaml"
-- a: 1
-- -- %% b
