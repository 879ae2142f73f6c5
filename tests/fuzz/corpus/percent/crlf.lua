-- %% a
x = 1

-- %% b tags=["parameters"]
y = "z"
