-- no header here
x = 1


-- %% two blanks before
y = 2



-- %% three blanks before
z = 3

--%%
w=1