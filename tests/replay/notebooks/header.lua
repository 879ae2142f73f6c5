#!/usr/bin/env firesteel
-- -*- coding: utf-8 -*-
-- ---
-- title: My notebook
-- jupyter:
--   kernelspec:
--     display_name: Firesteel (Lua)
--     language: lua
--     name: firesteel
-- ---

-- %% [markdown]
-- é
