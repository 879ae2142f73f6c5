%%capture out
%%bash -eu
echo hi
