-- %% Title with options id="abc" timeout="30s" tags=["a","b"] capture="v"
print(1)

-- %% {"file": "x.lua"}
-- %d stays
local s = "é"

-- %% Python file="a.py" language="python"
-- print("é")
-- x
--
-- y

-- %% y language="yaml" template="t.yaml"
-- a: b
