-- %%
%%writefile job.yaml
kind: Job
# c
-- %% Bash
%%bash
echo hi
-- %% Env
%env A=b
print(2)
x = !ls -l
!echo {x} $A
-- %% Fence [markdown] tags=["a","b"]
-- ```
-- %% not a marker
-- ```
plain line
--no space
--
-- %% [raw]
-- raw text
