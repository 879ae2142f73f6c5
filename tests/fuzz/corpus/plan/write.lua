%%writefile -a $DIR/{name}.txt
body
